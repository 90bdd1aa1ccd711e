import { at, useAsk, useMay, type Asked, type LiveState } from "../../api";
import { LiveBadge, Page, ProblemNote } from "../../components";
import { useT, useWords } from "../../words";
import "../fleet.css";
import { Alone } from "./Alone";
import { useServerNow } from "./clock";
import { Events } from "./Events";
import { Figures } from "./Figures";
import { cells } from "./map";
import { Nodes } from "./Nodes";
import { isAlive, isAlone } from "./nodes";
import "./page.css";
import { Shards } from "./Shards";
import type { ClusterNodes, ClusterShards } from "./types";
import { words } from "./words";

export default function Cluster() {
  const t = useWords(words);
  const shared = useT();
  const may = useMay("see", true);
  const nodes = useAsk<ClusterNodes>(may.ok ? at("/cluster/nodes") : null, { live: true });
  const shards = useAsk<ClusterShards>(may.ok ? at("/cluster/shards") : null, { live: true });
  const nowMs = useServerNow(shards.data?.asOf ?? null);
  if (!may.ok)
    return (
      <Page title={t("title")}>
        <p className="note warn">
          {t("notYours")} {may.reason}
        </p>
      </Page>
    );
  const all = nodes.data?.nodes ?? [];
  const lead =
    nodes.data && shards.data
      ? t("lead", {
          nodes: all.filter(isAlive).length,
          active: shards.data.activeShards,
          shards: shards.data.totalShards,
        })
      : t("leadShort");
  return (
    <Page title={t("title")} lead={lead} actions={<LiveBadge state={liveState(nodes)} />}>
      <ProblemNote problem={nodes.problem ?? shards.problem} again={nodes.again} />
      {nodes.data === null && nodes.loading && <p className="soft">{shared("app.loading")}</p>}
      {nodes.data && <Nodes nodes={all} again={nodes.again} />}
      {nodes.data && isAlone(all) && <Alone node={all.find(isAlive) ?? null} />}
      {nodes.data && shards.data && <Shards cells={cells(shards.data.shards, all, nowMs)} nodes={all} />}
      <Events />
      {nodes.data && <Figures nodes={all} />}
    </Page>
  );
}

function liveState(asked: Asked<ClusterNodes>): LiveState {
  if (asked.problem !== null) return "lost";
  return asked.data === null ? "connecting" : "open";
}
