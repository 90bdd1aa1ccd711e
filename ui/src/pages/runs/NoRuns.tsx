import type { ReactNode } from "react";
import { at, useAsk } from "../../api";
import { Empty } from "../../components";
import { namespaceOf, usePlace } from "../../router";
import { useWords } from "../../words";
import { firstCommand } from "./first";
import { words } from "./words";

/** That there are no runs yet, with a command that makes one: it names a workflow that is there. */
export function NoRuns({ title, children }: { title?: string; children?: ReactNode }) {
  const t = useWords(words);
  const says = title ?? t("emptyTitle");
  const namespace = namespaceOf(usePlace().query);
  const { data } = useAsk<{ items: readonly { id: string }[] }>(at("/workflows"), { query: { limit: 1 } });
  if (data === null) return <Empty title={says} />;
  const workflow = data.items[0]?.id ?? null;
  return (
    <Empty title={says} command={firstCommand(workflow, namespace)}>
      {workflow === null ? t("emptyFirst") : t("emptyMore")} {children}
    </Empty>
  );
}
