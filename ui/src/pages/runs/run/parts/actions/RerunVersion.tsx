import { at, useAsk } from "../../../../../api";
import { Field } from "../../../../../components";
import { useT, useWords } from "../../../../../words";
import type { RunView } from "../../types";
import type { Plan } from "./rerun";
import { RerunInput } from "./RerunInput";
import { words } from "./words";

interface InputOfProps {
  readonly run: RunView;
  readonly plan: Plan;
  readonly strict: boolean;
  readonly fault: string | undefined;
  readonly faults: Parameters<typeof RerunInput>[0]["faults"];
  readonly onChange: (text: string, fits: boolean) => void;
}

/** What the version that will run takes. */
export function InputOf({ run, plan, ...more }: InputOfProps) {
  const shared = useT();
  const version = plan.version ?? run.version;
  const asked = useAsk<{ inputs?: unknown }>(at("/workflows/:workflow", { workflow: run.workflow }), {
    query: { version, form: "steps" },
  });
  if (asked.loading && asked.data === null) return <p className="soft">{shared("app.loading")}</p>;
  return <RerunInput key={version} inputs={asked.data?.inputs} text={plan.input} {...more} />;
}

interface VersionProps {
  readonly run: RunView;
  readonly plan: Plan;
  readonly onChange: (version: number | null) => void;
}

/** Another version of the workflow, if there is one. */
export function Version({ run, plan, onChange }: VersionProps) {
  const t = useWords(words);
  const path = at("/workflows/:workflow/versions", { workflow: run.workflow });
  const asked = useAsk<{ items: readonly { version: number }[] }>(path, { query: { limit: 50 } });
  const versions = asked.data?.items.map((item) => item.version) ?? [];
  const others = versions.filter((version) => version !== run.version);
  if (others.length === 0) return null;
  return (
    <Field label={t("version")} inline>
      {(wiring) => (
        <select
          {...wiring}
          value={plan.version ?? ""}
          onChange={(event) => onChange(Number(event.target.value) || null)}
        >
          <option value="">{t("versionSame", { version: run.version })}</option>
          {others.map((version) => (
            <option key={version} value={version}>
              {version === versions[0] ? t("versionNewest", { version }) : version}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
