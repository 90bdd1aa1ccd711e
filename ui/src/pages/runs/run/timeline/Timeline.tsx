import { useEffect, useMemo, useReducer, useRef, useState, useSyncExternalStore } from "react";
import { Button, Empty } from "../../../../components";
import { useWindowed } from "../../../../components/windowed";
import { useT, useWords } from "../../../../words";
import { hasEnded, type RunPartProps, type StepView } from "../types";
import { words } from "../words";
import { Legend } from "./Legend";
import { Line } from "./Line";
import { linesOf, moved, zoomed, type Scale } from "./rows";
import { Ruler } from "./Ruler";
import "./timeline.css";
import { useChart } from "./useChart";

const ROW_PX = 40; // as windowed.ts has it

/** Who did what when: a line for each step, a bar for each attempt and each wait. */
export default function Timeline({ run }: RunPartProps) {
  const t = useWords(words);
  const shared = useT();
  const { chart, state, purged } = useChart(run);
  const [toggled, toggle] = useReducer(toggledIn, new Set<string>());
  const [chosen, setChosen] = useState<Scale | null>(null); // null: the whole run
  const [told, setTold] = useState("");
  const frame = useRef<HTMLDivElement>(null);
  const open = chart.endMs === null && !hasEnded(run.status);
  const nowMs = useNow(open);
  const heads = useHeads(run.steps);
  const lines = useMemo(() => linesOf(chart, heads, toggled), [chart, heads, toggled]);
  const begins = chart.events === 0 && (state === "connecting" || state === "open");
  const { from, to } = useWindowed(frame, begins ? 0 : lines.length, true); // without a frame there is no scrolling
  const startMs = chart.startMs ?? Date.parse(run.startedAt);
  const endMs = chart.endMs ?? (run.endedAt === null ? null : Date.parse(run.endedAt));
  const whole = useMemo(
    (): Scale => ({ fromMs: startMs, toMs: Math.max(startMs + 1, endMs ?? nowMs) }),
    [startMs, endMs, nowMs],
  );
  const scale = chosen ?? whole;
  const width = scale.toMs - scale.fromMs;
  const reading = (state === "connecting" || state === "open") && !open && chart.endMs === null;
  if (begins) return <p className="soft pad">{shared("app.loading")}</p>;
  if (lines.length === 0) return <Empty title={t("time.none")} />;
  return (
    <div className="timeline">
      <div className="timeline-tools">
        <div className="actions">
          <Button label={t("time.zoomIn")} onClick={() => setChosen(zoomed(scale, whole, 0.5))}>
            +
          </Button>
          <Button label={t("time.zoomOut")} onClick={() => setChosen(zoomed(scale, whole, 2))}>
            −
          </Button>
          <Button label={t("time.earlier")} onClick={() => setChosen(moved(scale, whole, -width / 2))}>
            ←
          </Button>
          <Button label={t("time.later")} onClick={() => setChosen(moved(scale, whole, width / 2))}>
            →
          </Button>
          <Button onClick={() => setChosen(null)} pressed={chosen === null}>
            {t("time.fit")}
          </Button>
        </div>
        <Legend />
      </div>
      {purged && <p className="note warn">{t("time.purged")}</p>}
      {reading && (
        <p className="soft" role="status">
          {t("time.reading", { count: chart.events })}
        </p>
      )}
      <div className="timeline-frame" ref={frame} role="region" aria-label={t("time.label")} tabIndex={0}>
        <Ruler scale={scale} zeroMs={startMs} />
        <div className="timeline-lines" style={{ height: lines.length * ROW_PX }}>
          {lines.slice(from, to).map((line, index) => (
            <Line
              key={line.row.step}
              line={line}
              top={(from + index) * ROW_PX}
              scale={scale}
              nowMs={nowMs}
              pauses={chart.pauses}
              onToggle={toggle}
              onTell={setTold}
            />
          ))}
        </div>
      </div>
      <p className="timeline-told small" aria-live="off">
        {told || <span className="soft">{t("time.hint")}</span>}
      </p>
    </div>
  );
}

/** The steps whose names are the lines; the same list for as long as none comes or goes. */
function useHeads(steps: readonly StepView[]): readonly StepView[] {
  const kept = useRef(steps);
  const { current } = kept;
  const same = current.length === steps.length && current.every((step, at) => step.id === steps[at]?.id);
  if (!same) kept.current = steps;
  return kept.current;
}

function toggledIn(now: ReadonlySet<string>, step: string): Set<string> {
  const next = new Set(now);
  if (!next.delete(step)) next.add(step);
  return next;
}

/** Now, as long as something goes on. */
function useNow(on: boolean): number {
  const [nowMs, setNow] = useState(() => Date.now());
  const seen = useSyncExternalStore(watchSeen, () => document.visibilityState === "visible");
  useEffect(() => {
    if (!on || !seen) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, [on, seen]);
  return nowMs;
}

function watchSeen(changed: () => void): () => void {
  document.addEventListener("visibilitychange", changed);
  return () => document.removeEventListener("visibilitychange", changed);
}
