import { useWords } from "../../words";
import { PROTECTIONS, type Protection } from "./languages";
import { words } from "./words";

export interface ProtectionsProps {
  readonly offered: readonly Protection[];
  readonly chosen: readonly Protection[];
  readonly onChange: (chosen: readonly Protection[]) => void;
}

export function Protections({ offered, chosen, onChange }: ProtectionsProps) {
  const t = useWords(words);
  return (
    <fieldset className="protections">
      <legend>{t("protections")}</legend>
      <p className="soft small">{t("protectionsHint")}</p>
      {PROTECTIONS.map((each) => (
        <label key={each}>
          <input
            type="checkbox"
            checked={chosen.includes(each)}
            onChange={(event) =>
              onChange(event.target.checked ? [...chosen, each] : chosen.filter((other) => other !== each))
            }
          />
          <span>
            {t(`protection.${each}`)}
            {!offered.includes(each) && <span className="soft"> ({t("notOffered")})</span>}
          </span>
        </label>
      ))}
    </fieldset>
  );
}
