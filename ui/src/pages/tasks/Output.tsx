import { useEffect, useRef } from "react";
import { Link } from "../../components";
import { pathTo } from "../../router";
import { useWords } from "../../words";
import type { Printed } from "./lines";
import { words } from "./words";

export interface OutputProps {
  readonly task: string;
  readonly printed: Printed;
  readonly ended: boolean;
}

/** What it printed, the newest line in sight. */
export function Output({ task, printed, ended }: OutputProps) {
  const t = useWords(words);
  const place = useRef<HTMLPreElement>(null);
  const follows = useRef(true);
  useEffect(() => {
    const element = place.current;
    if (element !== null && follows.current) element.scrollTop = element.scrollHeight;
  }, [printed]);
  return (
    <>
      {printed.dropped > 0 && (
        <p className="soft small">
          {t("dropped", { count: printed.dropped })}{" "}
          <Link to={pathTo("/ui/runs/:run", { run: task })}>{t("whole")}</Link>
        </p>
      )}
      <pre
        className="printed"
        ref={place}
        tabIndex={0}
        role="log"
        aria-label={t("output")}
        onScroll={(event) => {
          const { scrollHeight, scrollTop, clientHeight } = event.currentTarget;
          follows.current = scrollHeight - scrollTop - clientHeight < 40;
        }}
      >
        {printed.lines.length === 0 && <span className="soft">{t(ended ? "noOutput" : "noOutputYet")}</span>}
        {printed.lines.map((line, index) => (
          <span key={line.n} className={`line ${line.stream}`}>
            {line.attempt !== (printed.lines[index - 1]?.attempt ?? 1) && (
              <span className="soft attempt">{t("attempt", { n: line.attempt })}</span>
            )}
            {line.stream !== "stdout" && <span className="stream">{line.stream} </span>}
            {line.text}
            {"\n"}
          </span>
        ))}
      </pre>
    </>
  );
}
