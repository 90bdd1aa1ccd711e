import { Button, Time } from "../../../../../components";
import { useWords } from "../../../../../words";
import type { RunEvent } from "../../types";
import { words } from "./words";

const TONES: Readonly<Record<string, string>> = {
  AttemptFailed: "bad",
  StepFailed: "bad",
  AttemptLost: "bad",
  StepParked: "warn",
  StepSucceeded: "good",
};

export interface EventRowProps {
  readonly event: RunEvent;
  readonly sentence: string;
  readonly onOpen: (event: RunEvent) => void;
}

export function EventRow({ event, sentence, onOpen }: EventRowProps) {
  const t = useWords(words);
  return (
    <div className={`event-row ${TONES[event.type] ?? ""}`}>
      <span className="event-seq soft">{event.seq}</span>
      <span className="event-time soft">
        <Time at={event.at} style="clock" />
      </span>
      <span className="event-says" title={sentence}>
        {sentence}
      </span>
      <Button kind="quiet" onClick={() => onOpen(event)} label={t("details", { seq: event.seq })}>
        {t("detailsShort")}
      </Button>
    </div>
  );
}
