import { Button, Card } from "../../components";
import { choice, text, useFilters } from "../../router";
import { useWords } from "../../words";
import { legend, type Cell } from "./map";
import { ShardMap } from "./ShardMap";
import { ShardTable } from "./ShardTable";
import { Sign } from "./Sign";
import type { ClusterNode } from "./types";
import { words } from "./words";

const VIEWS = ["map", "table"] as const;
const FILTERS = { shards: choice(VIEWS, "map"), shard: text() };

export interface ShardsProps {
  readonly cells: readonly Cell[];
  readonly nodes: readonly ClusterNode[];
}

export function Shards({ cells, nodes }: ShardsProps) {
  const t = useWords(words);
  const [filter, setFilter] = useFilters(FILTERS);
  const moving = cells.filter((cell) => cell.movingTo !== null).length;
  const moved = cells.filter((cell) => cell.moved?.lately).length;
  const chosen = filter.shard === "" ? null : Number(filter.shard);
  return (
    <Card
      title={t("map")}
      actions={
        <div role="group" aria-label={t("view")} className="actions">
          {VIEWS.map((view) => (
            <Button key={view} pressed={filter.shards === view} onClick={() => setFilter({ shards: view })}>
              {t(view === "map" ? "asMap" : "asTable")}
            </Button>
          ))}
        </div>
      }
    >
      <ul className="plain-list legend">
        {legend(cells, nodes).map((line) => (
          <li key={line.name ?? ""}>
            {line.mark ? <Sign mark={line.mark} /> : <span className="node-sign nobody" aria-hidden="true" />}{" "}
            {t("legend", { name: line.name ?? t("nobody"), shards: line.shards })}
            {line.moving > 0 && <span className="soft"> · {t("legendMoving", { count: line.moving })}</span>}
            {line.come > 0 && <span className="soft"> · {t("legendCome", { count: line.come })}</span>}
          </li>
        ))}
      </ul>
      <p role="status" className={moving || moved ? "moving-note" : "soft small"}>
        {[
          moving > 0 && t("someMoving", { count: moving }),
          moved > 0 && t("someMoved", { count: moved }),
          moving === 0 && moved === 0 && t("calm"),
        ]
          .filter(Boolean)
          .join(" ")}
      </p>
      {filter.shards === "map" ? (
        <ShardMap
          cells={cells}
          chosen={chosen}
          onChoose={(number) => setFilter({ shard: number === chosen ? "" : String(number) })}
        />
      ) : (
        <ShardTable cells={cells} />
      )}
    </Card>
  );
}
