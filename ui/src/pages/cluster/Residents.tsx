import { at, useAsk } from "../../api";
import { Link, ProblemNote } from "../../components";
import { useT, useWords } from "../../words";
import { entityOf } from "./map";
import type { ShardDetail } from "./types";
import { words } from "./words";

const SHOWN = 20;

/** The first of what lives in a shard. */
export function Residents({ shard }: { readonly shard: number }) {
  const t = useWords(words);
  const shared = useT();
  const asked = useAsk<ShardDetail>(at("/cluster/shards/:shard", { shard }), {
    query: { limit: SHOWN },
    live: true,
  });
  const found = asked.data;
  const more = found === null ? 0 : found.entityCount - found.entities.length;
  return (
    <div aria-live="polite">
      <h3>{t("inShard", { number: shard })}</h3>
      <ProblemNote problem={asked.problem} again={asked.again} />
      {found === null && asked.loading && <p className="soft">{shared("app.loading")}</p>}
      {found?.entities.length === 0 && <p className="soft">{t("inShardNone")}</p>}
      {found !== null && found.entities.length > 0 && (
        <ul className="plain-list residents">
          {found.entities.map(entityOf).map(({ text, to }) => (
            <li key={text}>{to === null ? text : <Link to={to}>{text}</Link>}</li>
          ))}
          {more > 0 && <li className="soft">{t("inShardMore", { count: more })}</li>}
        </ul>
      )}
    </div>
  );
}
