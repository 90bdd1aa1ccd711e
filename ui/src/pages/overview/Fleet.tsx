import { at, useAsk } from "../../api";
import { Card, Link, ProblemNote, Status } from "../../components";
import { useWords } from "../../words";
import { workersOf } from "./figures";
import type { OverviewView, WorkersView } from "./types";
import { words } from "./words";

/** Nodes and workers in a line each. */
export function Fleet({ view }: { view: OverviewView }) {
  const t = useWords(words);
  const workers = useAsk<WorkersView>(at("/workers"), { live: true });
  const counted = workers.data && workersOf(workers.data);
  return (
    <div className="grid half">
      <Card title={t("nodes")} actions={<Link to="/ui/cluster">{t("all")}</Link>}>
        <p className="actions">
          <Status value="up" label={t("nodesUp", { count: view.nodes.up })} />
          {view.nodes.leaving > 0 && (
            <Status value="leaving" label={t("nodesLeaving", { count: view.nodes.leaving })} />
          )}
        </p>
      </Card>
      <Card title={t("workers")} actions={<Link to="/ui/workers">{t("all")}</Link>}>
        <ProblemNote problem={workers.problem} />
        {counted && (
          <p className="actions">
            {counted.online > 0 ? (
              <Status value="up" label={t("workersOnline", { count: counted.online })} />
            ) : (
              <Status value="down" label={t("noWorkers")} />
            )}
            {counted.trouble > 0 && (
              <Status value="leaving" label={t("workersTrouble", { count: counted.trouble })} />
            )}
            <span className="soft">{t("slots", { active: counted.active, slots: counted.slots })}</span>
          </p>
        )}
      </Card>
    </div>
  );
}
