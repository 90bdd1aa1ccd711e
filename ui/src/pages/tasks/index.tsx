import { useState } from "react";
import { at, useAsk, useSession } from "../../api";
import { Copy, Empty, Page, ProblemNote } from "../../components";
import { text, useFilters } from "../../router";
import { useT, useWords } from "../../words";
import { connectCommand } from "../workers/command";
import type { Workers } from "../workers/types";
import { chosenOf, offered } from "./languages";
import "../fleet.css";
import "./page.css";
import { Playground } from "./Playground";
import { Recent } from "./Recent";
import { TaskView } from "./TaskView";
import { words } from "./words";

const FILTERS = { language: text() };

export default function Tasks() {
  const t = useWords(words);
  const shared = useT();
  const { me } = useSession();
  const [filter, setFilter] = useFilters(FILTERS);
  const [started, setStarted] = useState<string[]>([]);
  const [endings, setEndings] = useState(0);
  const workers = useAsk<Workers>(at("/workers"), { live: true });
  const offers = offered(workers.data?.items ?? []);
  const offer = chosenOf(offers, filter.language);
  const current = started.at(-1);
  return (
    <Page title={t("title")} lead={t("lead")}>
      {workers.data === null && <ProblemNote problem={workers.problem} again={workers.again} />}
      {workers.data === null && workers.loading && <p className="soft">{shared("app.loading")}</p>}
      {workers.data !== null && offer === null && (
        <Empty title={t("noLanguages")} command="windlass doctor">
          <p>{t("noLanguagesMore")}</p>
          <p>{t("noWorkers")}</p>
          <Copy shown text={connectCommand(location, me?.login ?? false)} />
        </Empty>
      )}
      {offer && (
        <Playground
          offers={offers}
          offer={offer}
          onLanguage={(language) => setFilter({ language })}
          onStarted={(task) => setStarted((before) => [...before, task])}
        />
      )}
      {current && <TaskView key={current} id={current} onEnded={() => setEndings((before) => before + 1)} />}
      <Recent languages={offers.map((each) => each.language)} turn={started.length + endings} />
    </Page>
  );
}
