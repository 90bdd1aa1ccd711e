import { ask, at, useAct } from "../../../api";
import { Button, Link, Page, ProblemNote, toast } from "../../../components";
import { navigate } from "../../../router";
import { useT, useWords } from "../../../words";
import { useCheck } from "../edit/check";
import { DocumentEditor } from "../edit/DocumentEditor";
import { TEMPLATE } from "../edit/draft";
import { useDraft } from "../edit/unsaved";
import "../page.css";
import { toWorkflow } from "../paths";
import { words } from "../words";

/** A workflow from a small one that works. */
export default function NewWorkflow() {
  const t = useWords(words);
  const shared = useT();
  const [draft, setDraft] = useDraft("");
  const text = draft?.text ?? TEMPLATE;
  const setText = (next: string) => setDraft({ base: 0, before: TEMPLATE, text: next });
  const checked = useCheck(text);
  const saving = useAct();
  const save = async () => {
    let id = "";
    const went = await saving.act(async () => {
      id = (await ask<{ workflowId: string }>("POST", at("/workflows"), { yaml: text })).workflowId;
    });
    if (!went) return;
    setDraft(null);
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
        {text !== TEMPLATE && <Button onClick={() => setDraft(null)}>{shared("do.cancel")}</Button>}
      </div>
    </Page>
  );
}
