import { Time } from "../../../components";
import { useWords } from "../../../words";
import { words } from "../words";

/** Moments in the viewer's zone, one below the other. */
export function Times({ times }: { times: readonly string[] }) {
  const t = useWords(words);
  if (times.length === 0) return <p className="soft">{t("noTimes")}</p>;
  return (
    <ol className="times">
      {times.map((time) => (
        <li key={time}>
          <Time at={time} />
        </li>
      ))}
    </ol>
  );
}
