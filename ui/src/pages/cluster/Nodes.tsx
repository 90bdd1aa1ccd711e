import { useState } from "react";
import { at, post, useAct } from "../../api";
import { Button, Card, Confirm, Status, Table, Time, toast, type Column } from "../../components";
import { useWords } from "../../words";
import { Meter } from "../Meter";
import { sizeOf } from "../sizes";
import { marks } from "./map";
import { drainBar, isAlive, notesOf } from "./nodes";
import { Sign } from "./Sign";
import type { ClusterNode } from "./types";
import { words } from "./words";

export interface NodesProps {
  readonly nodes: readonly ClusterNode[];
  readonly again: () => void;
}

export function Nodes({ nodes, again }: NodesProps) {
  const t = useWords(words);
  const [asked, setAsked] = useState<string | null>(null);
  const draining = useAct();
  const drawn = marks(nodes);
  const chosen = nodes.find((node) => node.name === asked);
  const drain = async (name: string) => {
    if (!(await draining.act(() => post(at("/cluster/nodes/:name/drain", { name }))))) return;
    toast(t("drained", { name }));
    setAsked(null);
    again();
  };
  const columns: readonly Column<ClusterNode>[] = [
    {
      key: "name",
      head: t("name"),
      cell: (node) => (
        <span className="keep">
          <Sign mark={drawn.get(node.name) ?? null} /> <strong>{node.name}</strong>
          {node.self && <span className="soft small"> {t("self")}</span>}
          <div className="soft small">{node.address}</div>
          <div className="soft small">
            {node.version} · {node.roles.join(", ")}
          </div>
        </span>
      ),
    },
    {
      key: "state",
      head: t("state"),
      cell: (node) => (
        <>
          <Status value={node.state} />
          {isAlive(node) && (
            <div className="soft small keep">
              <Time at={node.startedAt} style="ago" />
            </div>
          )}
          {notesOf(node).map((note) => (
            <div key={note} className="small fault">
              {t(note)}
            </div>
          ))}
        </>
      ),
    },
    { key: "shards", head: t("shards"), end: true, cell: (node) => node.shards },
    { key: "entities", head: t("entities"), end: true, wideOnly: true, cell: (node) => node.entities },
    {
      key: "cpu",
      head: t("cpu"),
      wideOnly: true,
      cell: (node) => (isAlive(node) ? <Meter label={t("cpu")} share={node.load.cpu} /> : "–"),
    },
    {
      key: "memory",
      head: t("memory"),
      wideOnly: true,
      cell: (node) =>
        isAlive(node) ? (
          <span title={sizeOf(node.load.memoryBytes)}>
            <Meter label={t("memory")} share={node.load.memory} />
          </span>
        ) : (
          "–"
        ),
    },
    {
      key: "slots",
      head: t("slots"),
      wideOnly: true,
      cell: (node) =>
        isAlive(node) ? (
          <Meter
            label={t("slots")}
            share={(node.load.slots - node.load.free) / (node.load.slots || 1)}
            text={t("slotsOf", { taken: node.load.slots - node.load.free, all: node.load.slots })}
          />
        ) : (
          "–"
        ),
    },
    {
      key: "actions",
      head: <span className="unseen">{t("actions")}</span>,
      end: true,
      cell: (node) => {
        const bar = drainBar(node, nodes);
        return (
          <span className="keep">
            {" "}
            <Button
              needs="administer"
              disabled={bar !== null}
              label={t("drainOf", { name: node.name })}
              reason={bar === null ? "" : t(`bar.${bar}`)}
              onClick={() => {
                draining.forget();
                setAsked(node.name);
              }}
            >
              {t("drain")}
            </Button>
          </span>
        );
      },
    },
  ];
  return (
    <Card title={t("nodes")}>
      <Table label={t("nodesTable")} columns={columns} rows={nodes} rowKey={(node) => node.name} />
      <Confirm
        open={asked !== null}
        title={t("drainAsk", { name: asked ?? "" })}
        confirm={t("drain")}
        busy={draining.busy}
        problem={draining.problem}
        onConfirm={() => void (asked !== null && drain(asked))}
        onClose={() => setAsked(null)}
      >
        <p>{t("drainMore", { shards: chosen?.shards ?? 0 })}</p>
      </Confirm>
    </Card>
  );
}
