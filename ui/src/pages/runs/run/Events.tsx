import { EventList } from "./parts/events/EventList";
import { OnlyStep } from "./parts/feed/OnlyStep";
import "./parts/parts.css";
import type { RunPartProps } from "./types";

/** What happened to the step that is looked at, or to the whole run. */
export default function Events({ run }: RunPartProps) {
  return (
    <OnlyStep>
      {(step) => <EventList key={`${run.id} ${step} ${run.status === "stuck"}`} run={run} step={step} />}
    </OnlyStep>
  );
}
