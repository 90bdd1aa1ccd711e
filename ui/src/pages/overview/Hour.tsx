import { Spark, type SparkProps } from "../../components";
import { useWords } from "../../words";
import { words } from "./words";

export interface HourProps extends SparkProps {
  readonly number: Intl.NumberFormat;
}

/** Up to an hour minute by minute, with its scale. */
export function Hour({ number, ...spark }: HourProps) {
  const t = useWords(words);
  return (
    <>
      <Spark {...spark} />
      <p className="hour-scale" aria-hidden="true">
        <span>{t("minutesAgo", { count: spark.values.length })}</span>
        <span>{t("mostAtOnce", { count: number.format(Math.max(0, ...spark.values)) })}</span>
        <span>{t("now")}</span>
      </p>
    </>
  );
}
