import { Time } from "../../../../../components";
import { useWords } from "../../../../../words";
import { openStep } from "../../address";
import { piecesOf, type LogLine } from "./lines";
import { words } from "./words";

export interface LineProps {
  readonly line: LogLine;
  readonly sought: string;
  readonly here: boolean; // the place that the search is at
  readonly withStep: boolean; // lines of other steps are there, too
}

const SIGNS = { stdout: "out", stderr: "err", system: "system" } as const;

/** One line: where it was printed to is said by a word and a mark at its edge, not by colour alone. */
export function Line({ line, sought, here, withStep }: LineProps) {
  const t = useWords(words);
  return (
    <div className={`log-line ${line.stream}${here ? " here" : ""}`}>
      <span className="log-time wide-only">
        <Time at={line.at} style="clock" />
      </span>
      {withStep && (
        <button type="button" className="log-step" onClick={() => openStep(line.step)} tabIndex={-1}>
          {line.step}
          {line.attempt > 1 && `#${line.attempt}`}
        </button>
      )}
      <span className="log-stream">{t(SIGNS[line.stream])}</span>
      <span className="log-text">
        {piecesOf(line.text, sought).map((piece, index) =>
          piece.found ? <mark key={index}>{piece.text}</mark> : piece.text,
        )}
      </span>
    </div>
  );
}
