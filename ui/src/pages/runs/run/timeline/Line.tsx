import { Status } from "../../../../components";
import { useWords } from "../../../../words";
import { openStep } from "../address";
import { words } from "../words";
import { Bars } from "./Bars";
import type { Chart } from "./fold";
import { share, type Scale, type Shown } from "./rows";

export interface LineProps {
  readonly line: Shown;
  readonly top: number;
  readonly scale: Scale;
  readonly nowMs: number;
  readonly pauses: Chart["pauses"];
  readonly onToggle: (step: string) => void;
  readonly onTell: (text: string) => void;
}

/** One step: its name, and its bars. */
export function Line({ line, top, scale, nowMs, pauses, onToggle, onTell }: LineProps) {
  const t = useWords(words);
  const { row, members, open } = line;
  return (
    <div className={line.depth === 1 ? "timeline-line member" : "timeline-line"} style={{ top }}>
      <div className="timeline-name">
        {members > 0 && (
          <button
            type="button"
            className="run-fold"
            aria-expanded={open}
            aria-label={t(open ? "time.close" : "time.open", { count: members, step: row.step })}
            onClick={() => onToggle(row.step)}
          >
            {open ? "▾" : "▸"}
          </button>
        )}
        <button
          type="button"
          className="run-link"
          data-step={row.step}
          title={row.step}
          onClick={() => openStep(row.step)}
        >
          {row.step}
        </button>
        {members > 0 && <span className="soft small wide-only">{t("time.items", { count: members })}</span>}
      </div>
      <div className="timeline-track">
        {pauses.map((pause) => {
          const from = share(scale, pause.fromMs);
          return (
            <span
              key={pause.fromMs}
              className="paused"
              title={t("span.paused")}
              style={{
                left: `${from * 100}%`,
                width: `${(share(scale, pause.toMs ?? nowMs) - from) * 100}%`,
              }}
            />
          );
        })}
        {row.spans.length === 0 ? (
          <span className="timeline-state" title={row.skipped}>
            <Status value={row.status} />
          </span>
        ) : (
          <Bars
            step={row.step}
            spans={row.spans}
            scale={scale}
            nowMs={row.spans.at(-1)?.toMs === null ? nowMs : 0}
            onTell={onTell}
          />
        )}
      </div>
    </div>
  );
}
