import { useDeferredValue, useMemo, useState } from "react";
import { at, get, parseJson } from "../../../../../api";
import {
  Button,
  Dialog,
  Empty,
  Field,
  Json,
  LiveBadge,
  ProblemNote,
  formatTime,
  type JsonValue,
} from "../../../../../components";
import {
  localeOf,
  shared as sharedWords,
  useLanguage,
  useT,
  useWords,
  type SharedKey,
} from "../../../../../words";
import type { RunEvent, RunView } from "../../types";
import { readAll, type Feed, type Page } from "../feed/feed";
import { Rows } from "../feed/Rows";
import { useFeed, type Source } from "../feed/useFeed";
import { useNarrow } from "../../../../../narrow";
import { EventRow } from "./EventRow";
import { useNodeName } from "../nodes";
import { permitKeys, sentenceOf, type Speech } from "./sentences";
import { skipText, words as skipWords } from "../skipped";
import { words } from "./words";

const TAIL = 500;
const MOST_OF_STEP = 20_000;
const ROW_PX = 36; // as parts.css has it, and on a phone:
const NARROW_ROW_PX = 72;

const numberOf = (event: RunEvent): number => event.seq;

export interface EventListProps {
  readonly run: RunView;
  readonly step: string; // empty: of the whole run
}

/** What happened, each event in a sentence: the newest, more as they come, and earlier ones when asked for. */
export function EventList({ run, step }: EventListProps) {
  const t = useWords(words);
  const shared = useT();
  const [seq] = useState(run.seq ?? 0);
  const source = useMemo(() => sourceOf(run.id, step, seq), [run.id, step, seq]);
  const fed = useFeed(source);
  const [sought, setSought] = useState("");
  const [following, setFollowing] = useState(true);
  const [opened, setOpened] = useState<RunEvent | null>(null);
  const say = useSay(run, fed.items);
  const seeking = useDeferredValue(sought.trim().toLowerCase());
  const shown = useMemo(
    () => (seeking ? fed.items.filter((event) => say(event).toLowerCase().includes(seeking)) : fed.items),
    [fed.items, seeking, say],
  );
  const rowPx = useNarrow(640) ? NARROW_ROW_PX : ROW_PX;

  if (run.purged) return <Empty title={t("purged")}>{t("purgedMore")}</Empty>;
  if (!fed.known)
    return fed.problem ? (
      <ProblemNote problem={fed.problem} again={fed.again} />
    ) : (
      <p className="soft">{shared("app.loading")}</p>
    );
  return (
    <>
      <div className="filters feed-tools">
        <Field label={t("filter")} inline>
          {(wiring) => (
            <input
              {...wiring}
              type="search"
              value={sought}
              placeholder={t("filterHint")}
              onChange={(event) => setSought(event.target.value)}
            />
          )}
        </Field>
        <span className="spacer" />
        <LiveBadge state={fed.state} />
      </div>
      <p className="feed-foot soft small">
        {t("events", { count: shown.length })}
        {(fed.earlier || fed.reading) && (
          <Button kind="quiet" busy={fed.reading} onClick={() => fed.earlier?.()}>
            {t("earlier")}
          </Button>
        )}
      </p>
      {shown.length === 0 ? (
        <Empty title={t("none")}>{t("noneMore")}</Empty>
      ) : (
        <Rows
          label={t("region")}
          className="events"
          items={shown}
          number={numberOf}
          rowPx={rowPx}
          following={following}
          onFollowing={setFollowing}
          goTo={null}
          row={(event) => <EventRow event={event} sentence={say(event)} onOpen={setOpened} />}
        />
      )}
      <ProblemNote problem={fed.problem} />
      <Dialog
        open={opened !== null}
        title={opened ? t("title", { seq: opened.seq, type: opened.type }) : ""}
        onClose={() => setOpened(null)}
        wide
      >
        {opened && (
          <>
            <p>{say(opened)}</p>
            <Json value={opened as unknown as JsonValue} label={opened.type} depth={3} />
          </>
        )}
      </Dialog>
    </>
  );
}

function useSay(run: RunView, events: readonly RunEvent[]): (event: RunEvent) => string {
  const t = useWords(words);
  const shared = useT();
  const locale = localeOf(useLanguage());
  const nodeOf = useNodeName();
  const keys = useMemo(() => permitKeys(events), [events]);
  const steps = useMemo(() => new Map(run.steps.map((step) => [step.id, step])), [run.steps]);
  const skipped = useWords(skipWords);
  return useMemo(() => {
    const speech: Speech = {
      t,
      time: (moment) => formatTime(moment, "full", locale, Date.now()),
      status: (status) => {
        const key = `status.${status}`;
        return key in sharedWords.en ? shared(key as SharedKey) : status;
      },
      kindOf: (step) => steps.get(step)?.kind ?? "",
      skipOf: (step) => {
        const found = steps.get(step);
        return found ? skipText(found, skipped) : "";
      },
      keyOf: (number) => keys.get(number) ?? "",
      nodeOf,
    };
    return (event) => sentenceOf(event, speech);
  }, [t, shared, locale, keys, steps, skipped, nodeOf]);
}

function sourceOf(run: string, step: string, seq: number): Source<RunEvent> {
  const path = at("/runs/:run/events", { run });
  const read = (after: number, limit: number) => get<Page<RunEvent>>(path, { query: { step, after, limit } });
  const start = step ? 0 : Math.max(0, seq - TAIL);
  return {
    stream: at("/runs/:run/stream", { run }),
    number: numberOf,
    begin: start,
    fresh: (message) => {
      const event = parseJson<RunEvent>(message.data);
      return step === "" || event.step === step ? event : null;
    },
    read,
    first: async (): Promise<Feed<RunEvent>> => {
      if (step) return { items: await readAll(read, MOST_OF_STEP), fromStart: true };
      const page = await read(start, TAIL);
      return { items: page.items, fromStart: start === 0 };
    },
  };
}
