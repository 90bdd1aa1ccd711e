import { Button, Field } from "../../../../../components";
import { useWords } from "../../../../../words";
import { nextFound } from "./lines";
import { words } from "./words";

export interface SearchLinesProps {
  readonly sought: string;
  readonly onSeek: (sought: string) => void;
  readonly found: readonly number[];
  readonly at: number | null;
  readonly onGo: (at: number) => void;
}

/** What is looked for, and the way from place to place: Enter goes on, with Shift back. */
export function SearchLines({ sought, onSeek, found, at, onGo }: SearchLinesProps) {
  const t = useWords(words);
  const go = (forward: boolean) => {
    const next = nextFound(found, at, forward);
    if (next !== null) onGo(next);
  };
  const place = at === null ? -1 : found.indexOf(at);
  return (
    <div className="log-search">
      <Field label={t("search")} inline>
        {(wiring) => (
          <input
            {...wiring}
            type="search"
            value={sought}
            placeholder={t("searchHint")}
            onChange={(event) => onSeek(event.target.value)}
            onKeyDown={(event) => {
              if (event.key !== "Enter") return;
              event.preventDefault();
              go(!event.shiftKey);
            }}
          />
        )}
      </Field>
      {sought !== "" && (
        <>
          <span className="soft small" role="status">
            {found.length === 0
              ? t("notFound")
              : t("found", { at: place < 0 ? "–" : place + 1, count: found.length })}
          </span>
          <Button kind="quiet" onClick={() => go(false)} label={t("previous")} disabled={found.length === 0}>
            ↑
          </Button>
          <Button kind="quiet" onClick={() => go(true)} label={t("next")} disabled={found.length === 0}>
            ↓
          </Button>
        </>
      )}
    </div>
  );
}
