import { Card, Field } from "../../../components";
import { text, useFilters } from "../../../router";
import { useWords } from "../../../words";
import { words } from "../words";
import { ChoicesTable } from "./ChoicesTable";

const FILTERS = { worker: text(), workflow: text() };

/** The latest choices, of one worker or workflow if that is asked for. */
export function ChoicesCard() {
  const t = useWords(words);
  const [filter, setFilter] = useFilters(FILTERS);
  return (
    <Card title={t("choices")}>
      <p className="soft small">{t("choicesLead")}</p>
      <div className="filters">
        {(["worker", "workflow"] as const).map((name) => (
          <Field key={name} label={t(`only.${name}`)} inline>
            {(wiring) => (
              <input
                {...wiring}
                type="search"
                value={filter[name]}
                onChange={(event) => setFilter({ [name]: event.target.value.trim() })}
              />
            )}
          </Field>
        ))}
      </div>
      <ChoicesTable worker={filter.worker} workflow={filter.workflow} />
    </Card>
  );
}
