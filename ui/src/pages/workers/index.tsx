import { at, useAsk, useSession } from "../../api";
import {
  Button,
  Copy,
  Empty,
  Field,
  Page,
  ProblemNote,
  Status,
  Table,
  Time,
  type Column,
} from "../../components";
import { choice, text, useFilters } from "../../router";
import { useT, useWords } from "../../words";
import { percentOf } from "../sizes";
import { connectCommand } from "./command";
import { Details } from "./Details";
import { Meter } from "../Meter";
import "../fleet.css";
import "./page.css";
import { Running } from "./Running";
import { matching, rowKey, SHOWN_AS, STATES, stateOf } from "./states";
import { SubNav } from "./SubNav";
import type { Worker, Workers } from "./types";
import { words } from "./words";

const FILTERS = { state: choice(["all", ...STATES], "all"), search: text(), worker: text() };
const TOKEN = "windlass token create --role worker --name far";

export default function WorkersPage() {
  const t = useWords(words);
  const shared = useT();
  const { me } = useSession();
  const [filter, setFilter] = useFilters(FILTERS);
  const asked = useAsk<Workers>(at("/workers"), { live: true });
  const all = asked.data?.items ?? [];
  const rows = matching(all, filter);
  const chosen = all.find((worker) => worker.id === filter.worker);
  const connected = all.filter((worker) => worker.connected);
  const slots = connected.reduce((sum, worker) => sum + worker.slots, 0);
  const taken = connected.reduce((sum, worker) => sum + worker.active, 0);
  const ofItsNode = <span className="soft small keep">{t("ofItsNode")}</span>;
  const columns: readonly Column<Worker>[] = [
    {
      key: "name",
      head: t("name"),
      grow: true,
      cell: (worker) => (
        <span className="keep">
          <Button
            kind="quiet"
            label={t("details", { id: worker.id })}
            expanded={chosen === worker}
            onClick={() => setFilter({ worker: chosen === worker ? "" : worker.id })}
          >
            {worker.id}
          </Button>
        </span>
      ),
    },
    {
      key: "state",
      head: t("state"),
      cell: (worker) => <Status value={SHOWN_AS[stateOf(worker)]} label={t(`state.${stateOf(worker)}`)} />,
    },
    { key: "node", head: t("node"), wideOnly: true, cell: (worker) => worker.node },
    {
      key: "load",
      head: t("load"),
      cell: (worker) => (
        <Meter
          label={t("load")}
          share={worker.active / (worker.slots || 1)}
          text={t("slots", { active: worker.active, slots: worker.slots })}
        />
      ),
    },
    {
      key: "cpu",
      head: t("cpu"),
      wideOnly: true,
      cell: (worker) => (worker.builtIn ? ofItsNode : <Meter label={t("cpu")} share={worker.cpu} />),
    },
    {
      key: "memory",
      head: t("memory"),
      wideOnly: true,
      cell: (worker) => (worker.builtIn ? ofItsNode : <Meter label={t("memory")} share={worker.memory} />),
    },
    {
      key: "success",
      head: t("success"),
      end: true,
      wideOnly: true,
      cell: (worker) => (worker.results < 0.05 ? "–" : percentOf(worker.successRate)),
    },
    { key: "runs", head: t("runs"), wideOnly: true, cell: (worker) => <Running worker={worker} most={2} /> },
    {
      key: "beat",
      head: t("beat"),
      wideOnly: true,
      cell: (worker) => (
        <span className="keep">
          <Time at={worker.lastHeartbeat} style="ago" />
        </span>
      ),
    },
  ];
  const command = connectCommand(location, me?.login ?? false);
  const token = me?.login ? (
    <>
      <p className="soft">{t("token")}</p>
      <Copy shown text={TOKEN} />
    </>
  ) : null;
  return (
    <Page title={t("title")} lead={t("lead")}>
      <SubNav here="workers" />
      <ProblemNote problem={asked.problem} again={asked.again} />
      {asked.data === null && asked.loading && <p className="soft">{shared("app.loading")}</p>}
      {asked.data && all.length === 0 && (
        <Empty title={t("empty")} command={command}>
          <p>{t("emptyMore")}</p>
          {token}
        </Empty>
      )}
      {all.length > 0 && (
        <>
          <div className="filters">
            <Field label={t("state")} inline>
              {(wiring) => (
                <select
                  {...wiring}
                  value={filter.state}
                  onChange={(event) => setFilter({ state: FILTERS.state.read(event.target.value) })}
                >
                  <option value="all">{t("all")}</option>
                  {STATES.map((state) => (
                    <option key={state} value={state}>
                      {t(`state.${state}`)}
                    </option>
                  ))}
                </select>
              )}
            </Field>
            <Field label={t("find")} inline>
              {(wiring) => (
                <input
                  {...wiring}
                  type="search"
                  placeholder={t("findHint")}
                  value={filter.search}
                  onChange={(event) => setFilter({ search: event.target.value })}
                />
              )}
            </Field>
            <span className="soft">
              {t("online", { count: connected.length })} · {t("freeSlots", { free: slots - taken, slots })}
            </span>
          </div>
          {filter.worker && !chosen && <p className="note warn">{t("gone", { id: filter.worker })}</p>}
          {chosen && (
            <Details worker={chosen} onClose={() => setFilter({ worker: "" })} onDone={asked.again} />
          )}
          <Table
            label={t("title")}
            columns={columns}
            rows={rows}
            rowKey={rowKey}
            empty={<Empty title={t("noMatch")}>{t("noMatchMore")}</Empty>}
          />
          {connected.every((worker) => worker.builtIn) && (
            <div className="soft">
              <p>{t("onlyOne")}</p>
              <Copy shown text={command} />
              {token}
            </div>
          )}
        </>
      )}
    </Page>
  );
}
