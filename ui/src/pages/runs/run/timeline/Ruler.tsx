import { formatDuration } from "../../../../components";
import { useLanguage, useWords } from "../../../../words";
import { useNarrow } from "../../../../narrow";
import { words } from "../words";
import { share, ticks, type Scale } from "./rows";

const LAST = 0.94; // a mark further to the right has no room for its words

/** Marks of time since the run began. */
export function Ruler({ scale, zeroMs }: { readonly scale: Scale; readonly zeroMs: number }) {
  const t = useWords(words);
  const language = useLanguage();
  const wanted = useNarrow(760) ? 3 : 8;
  return (
    <div className="timeline-ruler">
      <div className="timeline-name">{t("time.step")}</div>
      <div className="timeline-track" aria-hidden="true">
        {ticks(scale, zeroMs, wanted)
          .filter((ms) => share(scale, zeroMs + ms) < LAST)
          .map((ms) => (
            <span key={ms} className="tick" style={{ left: `${share(scale, zeroMs + ms) * 100}%` }}>
              {ms === 0 ? "0" : formatDuration(ms / 1000, language)}
            </span>
          ))}
      </div>
    </div>
  );
}
