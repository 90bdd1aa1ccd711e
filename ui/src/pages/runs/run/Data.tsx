import type { ReactNode } from "react";
import { Card, Empty, Json, type JsonValue } from "../../../components";
import { useWords } from "../../../words";
import { words } from "./parts/data/words";
import "./parts/parts.css";
import { hasEnded, type RunPartProps } from "./types";

/** What the run was given, what its steps share, and what it gave. */
export default function Data({ run }: RunPartProps) {
  const t = useWords(words);
  if (run.purged) return <Empty title={t("purged")}>{t("purgedMore")}</Empty>;
  return (
    <div className="grid half">
      <Card title={t("input")}>
        <Shown value={run.input} label={t("input")} none={t("noInput")} />
      </Card>
      <Card title={t("output")}>
        <Shown
          value={run.output}
          label={t("output")}
          none={hasEnded(run.status) ? t("noOutput") : t("notYet")}
        />
      </Card>
      <Card title={t("context")}>
        <Shown value={run.context} label={t("context")} none={t("noContext")} />
        {!isNothing(run.context) && <p className="soft small">{t("contextHint")}</p>}
      </Card>
      <Card title={t("labels")}>
        <Shown value={run.labels} label={t("labels")} none={t("noLabels")} />
      </Card>
    </div>
  );
}

function Shown({ value, label, none }: { value: JsonValue; label: string; none: ReactNode }) {
  if (isNothing(value)) return <p className="soft">{none}</p>;
  return <Json value={value} label={label} depth={3} />;
}

function isNothing(value: JsonValue): boolean {
  return value === null || (typeof value === "object" && Object.keys(value).length === 0);
}
