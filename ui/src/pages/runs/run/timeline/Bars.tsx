import { formatDuration, formatTime } from "../../../../components";
import { localeOf, useLanguage, useWords } from "../../../../words";
import { words } from "../words";
import type { Span } from "./fold";
import { share, type Scale } from "./rows";

export interface BarsProps {
  readonly step: string;
  readonly spans: readonly Span[];
  readonly scale: Scale;
  readonly nowMs: number;
  readonly onTell: (text: string) => void;
}

/** What a step did when, as bars; each tells its times when it is pointed at or focused. */
export function Bars({ step, spans, scale, nowMs, onTell }: BarsProps) {
  const tell = useTell();
  return (
    <>
      {spans.map((span, index) => {
        const from = share(scale, span.fromMs);
        const to = share(scale, span.toMs ?? nowMs);
        if ((span.toMs ?? nowMs) < scale.fromMs || span.fromMs > scale.toMs) return null;
        const text = `${step}: ${tell(span, nowMs)}`;
        return (
          <span
            key={index}
            role="img"
            tabIndex={0}
            aria-label={text}
            title={text}
            className={`run-span ${span.kind} ${span.outcome ?? ""} ${span.toMs === null ? "open" : ""}`}
            style={{ left: `${from * 100}%`, width: `max(3px, ${(to - from) * 100}%)` }}
            onMouseEnter={() => onTell(text)}
            onFocus={() => onTell(text)}
          />
        );
      })}
    </>
  );
}

function useTell(): (span: Span, nowMs: number) => string {
  const t = useWords(words);
  const language = useLanguage();
  const locale = localeOf(language);
  const clock = (ms: number) => formatTime(new Date(ms).toISOString(), "clock", locale, 0);
  return (span, nowMs) => {
    const { outcome } = span;
    const kind = outcome === null || outcome === "succeeded" ? t(`span.${span.kind}`) : t(`span.${outcome}`);
    const parts = [kind];
    if (span.attempt > 0 && span.kind !== "items") parts.push(t("span.attempt", { attempt: span.attempt }));
    const end = span.toMs === null ? t("span.goesOn") : clock(span.toMs);
    parts.push(`${clock(span.fromMs)} – ${end}`);
    parts.push(formatDuration(((span.toMs ?? nowMs) - span.fromMs) / 1000, language));
    if (span.worker) parts.push(t("span.worker", { worker: span.worker }));
    if (span.error) parts.push(span.error.slice(0, 300));
    return parts.join(" · ");
  };
}
