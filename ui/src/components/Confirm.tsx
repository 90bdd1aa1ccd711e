import { useId, useRef, type ReactNode } from "react";
import type { Problem } from "../api/problem";
import { useT } from "../words";
import { Button } from "./Button";
import { useModal } from "./modal";
import { ProblemNote } from "./ProblemNote";

export interface ConfirmProps {
  readonly open: boolean;
  readonly title: string; // a question: "Cancel this run?"
  readonly children?: ReactNode; // what will happen
  readonly confirm: string; // the deed, as the button says it
  readonly danger?: boolean;
  readonly busy?: boolean;
  readonly problem?: Problem | null;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

/** Asks once before a deed that cannot be taken back. Escape and a click beside it mean no. */
export function Confirm(props: ConfirmProps) {
  const t = useT();
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useModal(dialog, props.open);
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      onClose={() => props.open && props.onClose()}
      onClick={(event) => event.target === dialog.current && props.onClose()}
    >
      {props.open && (
        <form
          method="dialog"
          onSubmit={(event) => {
            event.preventDefault();
            if (!props.busy) props.onConfirm();
          }}
        >
          <h2 id={id}>{props.title}</h2>
          {props.children}
          <ProblemNote problem={props.problem ?? null} />
          <div className="actions end">
            <Button onClick={props.onClose}>{t("do.notNow")}</Button>
            <Button
              type="submit"
              kind={(props.danger ?? true) ? "danger" : "main"}
              busy={props.busy ?? false}
            >
              {props.confirm}
            </Button>
          </div>
        </form>
      )}
    </dialog>
  );
}
