import { useDeferredValue, useMemo, useState } from "react";
import { at, get } from "../../../../../api";
import { Button, Copy, Empty, Field, LiveBadge, ProblemNote } from "../../../../../components";
import { useT, useWords } from "../../../../../words";
import { hasEnded, type RunView } from "../../types";
import type { Feed, Page } from "../feed/feed";
import { Rows } from "../feed/Rows";
import { useFeed, type Source } from "../feed/useFeed";
import { Line } from "./Line";
import { attemptsIn, findIn, numberOf, ofAttempt, textOf, type LogLine } from "./lines";
import { SearchLines } from "./SearchLines";
import { words } from "./words";

const TAIL = 2_000;
const LINE_PX = 22; // as parts.css has it

export interface LogViewProps {
  readonly run: RunView;
  readonly step: string; // empty: of the whole run
}

/** What was printed: the newest lines, more as they come, and earlier ones when asked for. */
export function LogView({ run, step }: LogViewProps) {
  const t = useWords(words);
  const shared = useT();
  const source = useMemo(() => sourceOf(run.id, step), [run.id, step]);
  const fed = useFeed(source);
  const [attempt, setAttempt] = useState<number | null>(null);
  const [following, setFollowing] = useState(true);
  const [sought, setSought] = useState("");
  const [here, setHere] = useState<number | null>(null);
  const lines = useMemo(() => ofAttempt(fed.items, attempt), [fed.items, attempt]);
  const attempts = useMemo(() => (step ? attemptsIn(fed.items) : []), [fed.items, step]);
  const seeking = useDeferredValue(sought.trim());
  const found = useMemo(() => findIn(lines, seeking), [lines, seeking]);

  if (!fed.known)
    return fed.problem ? (
      <ProblemNote problem={fed.problem} again={fed.again} />
    ) : (
      <p className="soft">{shared("app.loading")}</p>
    );
  if (fed.items.length === 0) return <NoLines run={run} step={step} />;
  return (
    <>
      <div className="filters feed-tools">
        <SearchLines
          sought={sought}
          onSeek={(text) => {
            setSought(text);
            setHere(null);
          }}
          found={found}
          at={here}
          onGo={(number) => {
            setFollowing(false);
            setHere(number);
          }}
        />
        {attempts.length > 1 && (
          <Field label={t("attempt")} inline>
            {(wiring) => (
              <select
                {...wiring}
                value={attempt ?? ""}
                onChange={(event) => setAttempt(Number(event.target.value) || null)}
              >
                <option value="">{t("everyAttempt")}</option>
                {attempts.map((each) => (
                  <option key={each}>{each}</option>
                ))}
              </select>
            )}
          </Field>
        )}
        <span className="spacer" />
        <LiveBadge state={fed.state} />
        <Button pressed={following} onClick={() => setFollowing(!following)}>
          {t("follow")}
        </Button>
        <Copy text={() => textOf(lines)} label={t("copy")} />
      </div>
      <p className="feed-foot soft small">
        {t("lines", { count: lines.length })}
        {(fed.earlier || fed.reading) && (
          <Button kind="quiet" busy={fed.reading} onClick={() => fed.earlier?.()}>
            {t("earlier")}
          </Button>
        )}
      </p>
      <Rows
        label={t("region")}
        className="log"
        items={lines}
        number={numberOf}
        rowPx={LINE_PX}
        following={following}
        onFollowing={setFollowing}
        goTo={here}
        row={(line) => <Line line={line} sought={seeking} here={line.n === here} withStep={step === ""} />}
      />
      <ProblemNote problem={fed.problem} />
    </>
  );
}

function NoLines({ run, step }: LogViewProps) {
  const t = useWords(words);
  if (run.purged) return <Empty title={t("purged")}>{t("purgedMore")}</Empty>;
  if (!hasEnded(run.status)) return <Empty title={t("noneYet")}>{t("noneYetMore")}</Empty>;
  const command = `windlass logs ${run.id}${step ? ` --step '${step}'` : ""}`;
  return (
    <Empty title={t("none")} command={command}>
      {t("noneMore")}
    </Empty>
  );
}

function sourceOf(run: string, step: string): Source<LogLine> {
  const path = at("/runs/:run/logs", { run });
  return {
    stream: path,
    query: { step, follow: true },
    number: numberOf,
    fresh: (message) => (message.event === "line" ? (JSON.parse(message.data) as LogLine) : null),
    read: (after, limit) => get<Page<LogLine>>(path, { query: { step, after, limit } }),
    first: async (): Promise<Feed<LogLine>> => {
      const page = await get<Page<LogLine>>(path, { query: { step, tail: TAIL } });
      return { items: page.items, fromStart: page.items.length < TAIL };
    },
  };
}
