import { useEffect, useState } from "react";
import { at, useAsk } from "../../api";
import { Card, ProblemNote } from "../../components";
import { text, useFilters } from "../../router";
import { useWords } from "../../words";
import { FiguresOf } from "./FiguresOf";
import { FiguresTable } from "./FiguresTable";
import { followAll, NO_RATES, type RatesOf } from "./figures";
import type { ClusterFigures, ClusterNode } from "./types";
import { words } from "./words";

const FILTERS = { figures: text() };

/** Journal and commits of every node: all beside each other, and one of them in full. */
export function Figures({ nodes }: { readonly nodes: readonly ClusterNode[] }) {
  const t = useWords(words);
  const [filter, setFilter] = useFilters(FILTERS);
  const asked = useAsk<ClusterFigures>(at("/cluster/figures/all"), { live: true });
  const [rates, setRates] = useState<RatesOf>(new Map());
  const items = asked.data?.items;
  useEffect(() => {
    if (items !== undefined) setRates((before) => followAll(before, items));
  }, [items]);
  const self = nodes.find((node) => node.self)?.name;
  const shown = items?.find((each) => each.node === (filter.figures || self)) ?? items?.[0];
  return (
    <Card title={t("figures")} actions={<a href="/metrics">{t("metrics")}</a>}>
      <ProblemNote problem={asked.problem} again={asked.again} />
      {asked.data && asked.data.silent.length > 0 && (
        <p className="note warn">{t("silent", { nodes: asked.data.silent.join(", ") })}</p>
      )}
      {items && shown && (
        <>
          {items.length > 1 && (
            <FiguresTable
              items={items}
              rates={rates}
              chosen={shown.node}
              onChoose={(node) => setFilter({ figures: node === self ? "" : node })}
            />
          )}
          <FiguresOf
            now={shown}
            rates={rates.get(shown.node) ?? NO_RATES}
            startedAt={nodes.find((node) => node.name === shown.node)?.startedAt ?? null}
          />
        </>
      )}
    </Card>
  );
}
