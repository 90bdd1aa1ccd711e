import { useState } from "react";
import { ask, at, useAct } from "../../../api";
import { Button, Link, Page, ProblemNote, toast } from "../../../components";
import { navigate } from "../../../router";
import { useT, useWords } from "../../../words";
import { useCheck } from "../edit/check";
import { DocumentEditor } from "../edit/DocumentEditor";
import { TEMPLATE } from "../edit/draft";
import { useLeaveWarning } from "../edit/EditTab";
import "../page.css";
import { toWorkflow } from "../paths";
import { words } from "../words";

/** A workflow from a small one that works. */
export default function NewWorkflow() {
  const t = useWords(words);
  const shared = useT();
  const [text, setText] = useState(TEMPLATE);
  const checked = useCheck(text);
  const saving = useAct();
  useLeaveWarning(text !== TEMPLATE && !saving.busy);
  const save = async () => {
    let id = "";
    const went = await saving.act(async () => {
      id = (await ask<{ workflowId: string }>("POST", at("/workflows"), { yaml: text })).workflowId;
    });
    if (!went) return;
    toast(t("created", { id }));
    navigate(toWorkflow(id));
  };
  return (
    <Page
      title={t("newTitle")}
      lead={t("newLead")}
      crumbs={<Link to="/ui/workflows">{shared("nav.workflows")}</Link>}
    >
      <DocumentEditor text={text} onText={setText} checked={checked} onSave={() => void save()} />
      {saving.problem?.status !== 422 && <ProblemNote problem={saving.problem} />}
      <div className="actions">
        <Button kind="main" needs="operate" busy={saving.busy} onClick={() => void save()}>
          {t("create")}
        </Button>
      </div>
    </Page>
  );
}
