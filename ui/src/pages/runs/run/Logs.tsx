import { OnlyStep } from "./parts/feed/OnlyStep";
import { LogView } from "./parts/logs/LogView";
import "./parts/parts.css";
import type { RunPartProps } from "./types";

/** What the steps printed: of the step that is looked at, or of the whole run. */
export default function Logs({ run }: RunPartProps) {
  return (
    <OnlyStep>
      {(step) => <LogView key={`${run.id} ${step} ${run.status === "stuck"}`} run={run} step={step} />}
    </OnlyStep>
  );
}
