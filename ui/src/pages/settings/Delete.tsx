import { useState } from "react";
import { useAct, type Right } from "../../api";
import { Button, Confirm, toast } from "../../components";

export interface DeleteProps {
  readonly needs: Right;
  readonly deed: string; // what the button says
  readonly label: string; // with the name of the thing
  readonly title: string; // the question
  readonly lead: string;
  readonly said: string; // afterwards
  readonly act: () => Promise<unknown>;
  readonly onDone: () => void;
  readonly disabled?: boolean;
  readonly reason?: string;
}

/** A button that takes something away; asks once. */
export function Delete(props: DeleteProps) {
  const [asking, setAsking] = useState(false);
  const acting = useAct();
  const go = async () => {
    if (!(await acting.act(props.act))) return;
    setAsking(false);
    toast(props.said);
    props.onDone();
  };
  return (
    <>
      <Button
        needs={props.needs}
        label={props.label}
        disabled={props.disabled ?? false}
        reason={props.reason ?? ""}
        onClick={() => setAsking(true)}
      >
        {props.deed}
      </Button>
      <Confirm
        open={asking}
        title={props.title}
        confirm={props.deed}
        busy={acting.busy}
        problem={acting.problem}
        onConfirm={() => void go()}
        onClose={() => setAsking(false)}
      >
        <p>{props.lead}</p>
      </Confirm>
    </>
  );
}
