import { useEffect, useState } from "react";
import { at, remove, useAct } from "../../api";
import { Button, Card, Confirm, LiveBadge, Status, toast } from "../../components";
import { useWords } from "../../words";
import { useTask } from "./follow";
import { Output } from "./Output";
import { Result } from "./Result";
import { TaskProblem } from "./TaskProblem";
import { SHOWN_AS } from "./types";
import { words } from "./words";

export interface TaskViewProps {
  readonly id: string;
  readonly onEnded?: () => void;
}

/** One task: what it prints as it comes, then its result. */
export function TaskView({ id, onEnded }: TaskViewProps) {
  const t = useWords(words);
  const { task, printed, live, problem, again } = useTask(id);
  const [asking, setAsking] = useState(false);
  const cancelling = useAct();
  const ended = task?.final ?? false;
  useEffect(() => {
    if (ended) onEnded?.();
  }, [ended]);
  const cancel = async () => {
    if (!(await cancelling.act(() => remove(at("/tasks/:task", { task: id }))))) return;
    setAsking(false);
    toast(t("cancelled"));
    again();
  };
  return (
    <>
      <Card
        title={t("output")}
        actions={
          <>
            {task && <Status value={SHOWN_AS[task.status]} label={t(`status.${task.status}`)} />}
            {!ended && <LiveBadge state={live} />}
            {!ended && task && (
              <Button needs="operate" onClick={() => setAsking(true)}>
                {t("cancel")}
              </Button>
            )}
          </>
        }
      >
        <TaskProblem problem={problem} />
        {task && !ended && task.assignedClient === null && <p className="soft">{t("waits")}</p>}
        <Output task={id} printed={printed} ended={ended} />
      </Card>
      {task && ended && <Result task={task} />}
      <Confirm
        open={asking}
        title={t("cancelAsk")}
        confirm={t("cancel")}
        busy={cancelling.busy}
        problem={cancelling.problem}
        onConfirm={() => void cancel()}
        onClose={() => setAsking(false)}
      >
        <p>{t("cancelMore")}</p>
      </Confirm>
    </>
  );
}
