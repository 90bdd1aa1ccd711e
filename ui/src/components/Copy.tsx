import { useEffect, useState } from "react";
import { useT } from "../words";
import { Button } from "./Button";
import { toast } from "./Toast";

export interface CopyProps {
  readonly text: string | (() => string); // a long one is made when it is wanted
  readonly shown?: boolean; // the text is shown, too, as a command
  readonly label?: string;
  readonly words?: string; // on the button, where "Copy" does not say what
}

/** A button that copies; with `shown`, the command beside it. */
export function Copy({ text, shown = false, label, words }: CopyProps) {
  const t = useT();
  const [done, setDone] = useState(false);
  useEffect(() => {
    if (!done) return;
    const timer = setTimeout(() => setDone(false), 1500);
    return () => clearTimeout(timer);
  }, [done]);
  const copy = async () => {
    if (await toClipboard(typeof text === "string" ? text : text())) {
      setDone(true);
      toast(t("do.copied"));
    } else toast(t("do.notCopied"), "bad");
  };
  const told = typeof text === "string" ? `${t("do.copy")}: ${text.slice(0, 80)}` : t("do.copy");
  const button = (
    <Button kind="quiet" onClick={() => void copy()} label={label ?? told}>
      {done ? t("do.copied") : (words ?? t("do.copy"))}
    </Button>
  );
  if (!shown) return button;
  return (
    <div className="command">
      <pre tabIndex={0}>
        <code>{typeof text === "string" ? text : text()}</code>
      </pre>
      {button}
    </div>
  );
}

/** Without TLS only pages of this machine have the clipboard; the older way works for all. */
async function toClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "unseen";
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}
