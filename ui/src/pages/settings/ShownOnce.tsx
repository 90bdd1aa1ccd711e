import { Button, Copy, Dialog } from "../../components";
import { useWords } from "../../words";
import { words } from "./words";

export interface ShownOnceProps {
  readonly title: string;
  readonly lead: string;
  readonly text: string | null; // null: nothing to show
  readonly onClose: () => void;
}

/** What is told this once: a token, or what a webhook signs with. */
export function ShownOnce({ title, lead, text, onClose }: ShownOnceProps) {
  const t = useWords(words);
  return (
    <Dialog open={text !== null} title={title} onClose={onClose}>
      <p>{lead}</p>
      {text !== null && <Copy shown text={text} />}
      <div className="actions end">
        <Button kind="main" onClick={onClose}>
          {t("done")}
        </Button>
      </div>
    </Dialog>
  );
}
