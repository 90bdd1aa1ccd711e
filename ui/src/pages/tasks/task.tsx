import { Link, Page } from "../../components";
import { useWords } from "../../words";
import type { PageProps } from "..";
import "../fleet.css";
import "./page.css";
import { TaskView } from "./TaskView";
import { words } from "./words";

export default function TaskPage({ parts }: PageProps) {
  const t = useWords(words);
  const id = parts["task"] ?? "";
  return (
    <Page title={t("task", { id })} crumbs={<Link to="/ui/tasks">{t("title")}</Link>}>
      <TaskView key={id} id={id} />
    </Page>
  );
}
