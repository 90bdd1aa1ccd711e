import { useWords } from "../../../../words";
import { words } from "../words";

const SHOWN = [
  ["queued", ""],
  ["running", "open"],
  ["running", "succeeded"],
  ["running", "failed"],
  ["running", "lost"],
  ["backoff", ""],
  ["waiting", ""],
  ["items", ""],
] as const;

/** What the looks of the bars mean. */
export function Legend() {
  const t = useWords(words);
  return (
    <ul className="timeline-legend small">
      {SHOWN.map(([kind, outcome]) => (
        <li key={kind + outcome}>
          <span className={`run-span ${kind} ${outcome}`} aria-hidden="true" />{" "}
          {t(`span.${outcome === "open" || outcome === "" ? kind : outcome}`)}
        </li>
      ))}
    </ul>
  );
}
