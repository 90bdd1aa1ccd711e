import { useMemo, useState } from "react";
import { Button } from "../../../components";
import { useWords } from "../../../words";
import { diff, folded } from "../text/diff";
import { words } from "../words";

export interface DiffProps {
  readonly before: string;
  readonly after: string;
  readonly label: string;
}

const PAGE = 500; // rows that are drawn at once
const SIGNS = { same: " ", gone: "−", new: "+" } as const;

/** Two texts, line by line: signs and colours say what is gone and what is new. */
export function Diff({ before, after, label }: DiffProps) {
  const t = useWords(words);
  const [whole, setWhole] = useState(false);
  const [most, setMost] = useState(PAGE);
  const rows = useMemo(() => diff(before, after), [before, after]);
  const shown = useMemo(() => (whole ? rows : folded(rows)), [rows, whole]);
  if (rows.every((row) => row.kind === "same")) return <p className="soft">{t("noDifference")}</p>;
  const names = { same: "", gone: t("lineGone"), new: t("lineNew") };
  return (
    <div className="diff" role="region" aria-label={label} tabIndex={0}>
      <table>
        <caption className="unseen">{label}</caption>
        <tbody>
          {shown.slice(0, most).map((row, index) =>
            row.kind === "fold" ? (
              <tr key={index} className="fold">
                <td colSpan={4}>
                  <Button kind="quiet" onClick={() => setWhole(true)}>
                    {t("folded", { count: row.count })}
                  </Button>
                </td>
              </tr>
            ) : (
              <tr key={index} className={row.kind}>
                <td className="number">{row.before}</td>
                <td className="number">{row.after}</td>
                <td className="sign">
                  <span aria-hidden="true">{SIGNS[row.kind]}</span>
                  <span className="unseen">{names[row.kind]}</span>
                </td>
                <td className="text">{row.text}</td>
              </tr>
            ),
          )}
        </tbody>
      </table>
      {shown.length > most && (
        <Button kind="quiet" onClick={() => setMost(most + PAGE)}>
          {t("moreLines", { count: shown.length - most })}
        </Button>
      )}
    </div>
  );
}
