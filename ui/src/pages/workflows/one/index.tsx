import { useState } from "react";
import { at, remove, useAct, useAsk } from "../../../api";
import { Button, Confirm, Link, Page, ProblemNote, Tabs, Time, toast } from "../../../components";
import { choice, namespaceOf, navigate, useFilters, usePlace, whole } from "../../../router";
import type { PageProps } from "../..";
import { useT, useWords } from "../../../words";
import { EditTab } from "../edit/EditTab";
import type { Draft } from "../edit/draft";
import { useDraft } from "../edit/unsaved";
import "../page.css";
import { TABS, type TabKey } from "../paths";
import { ScheduleTab } from "../schedule/ScheduleTab";
import type { Document } from "../types";
import { VersionsTab } from "../versions/VersionsTab";
import { words } from "../words";
import { GraphTab } from "./GraphTab";
import { RunsTab } from "./RunsTab";
import { StartTab } from "./StartTab";

const FILTERS = { tab: choice<TabKey>(TABS, "graph"), version: whole(0) };

export default function WorkflowPage({ parts }: PageProps) {
  const id = parts.workflow ?? "";
  const namespace = namespaceOf(usePlace().query); // another one has another workflow of that name
  return <Workflow key={`${namespace ?? ""} ${id}`} id={id} />;
}

function Workflow({ id }: { id: string }) {
  const t = useWords(words);
  const shared = useT();
  const [{ tab, version }, setFilter] = useFilters(FILTERS);
  const [draft, setDraft] = useDraft(id);
  const [asking, setAsking] = useState(false);
  const deleting = useAct();
  const asked = useAsk<Document>(at("/workflows/:id", { id }), {
    query: { form: "steps" },
  });
  const older = useAsk<Document>(version ? at("/workflows/:id", { id }) : null, {
    query: { form: "steps", version },
  });
  const { data: document } = asked;
  const drop = async () => {
    if (!(await deleting.act(() => remove(at("/workflows/:id", { id }))))) return;
    setDraft(null);
    toast(t("deleted", { id }));
    navigate("/ui/workflows");
  };
  const edit = (begun: Draft) => {
    setDraft(begun);
    setFilter({ tab: "edit" });
  };
  return (
    <Page
      title={id}
      crumbs={<Link to="/ui/workflows">{shared("nav.workflows")}</Link>}
      lead={document && <Lead document={document} />}
      actions={
        <>
          <Button kind="main" needs="start" onClick={() => setFilter({ tab: "start" })}>
            {t("start")}
          </Button>
          <Button needs="operate" onClick={() => setAsking(true)}>
            {shared("do.delete")}
          </Button>
        </>
      }
    >
      <ProblemNote problem={asked.problem} again={asked.again} />
      <ProblemNote problem={older.problem} />
      {document && (
        <Tabs
          label={t("parts")}
          tabs={TABS.map((key) => ({ key, label: t(`tab.${key}`) }))}
          chosen={tab}
          onChoose={(chosen) => setFilter({ tab: chosen })}
        >
          {tab === "graph" && (
            <GraphTab document={older.data ?? document} newest={Number(document.version)} />
          )}
          {tab === "start" && <StartTab id={id} document={document} />}
          {tab === "runs" && <RunsTab id={id} />}
          {tab === "schedule" && <ScheduleTab id={id} />}
          {tab === "versions" && <VersionsTab id={id} newest={Number(document.version)} onEdit={edit} />}
          {tab === "edit" && <EditTab id={id} draft={draft} onDraft={setDraft} onSaved={asked.again} />}
        </Tabs>
      )}
      <Confirm
        open={asking}
        title={t("deleteAsk", { id })}
        confirm={shared("do.delete")}
        busy={deleting.busy}
        problem={deleting.problem}
        onConfirm={() => void drop()}
        onClose={() => {
          setAsking(false);
          deleting.forget();
        }}
      >
        <p>{t("deleteMore")}</p>
      </Confirm>
    </Page>
  );
}

function Lead({ document }: { document: Document }) {
  const t = useWords(words);
  const about = [document.name, document.description].filter((text) => typeof text === "string" && text);
  const { updatedAt } = document.metadata as { updatedAt?: string };
  return (
    <>
      {about.length > 0 && <>{about.join(" · ")} · </>}
      {t("versionOf", { version: String(document.version) })} · <Time at={updatedAt} style="ago" />
    </>
  );
}
