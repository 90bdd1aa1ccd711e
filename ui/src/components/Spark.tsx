import { useT } from "../words";
import { localeOf, useLanguage } from "../words";

export interface SparkProps {
  readonly label: string; // what is drawn
  readonly values: readonly number[]; // the oldest first
  readonly height?: number;
  readonly tone?: "accent" | "good" | "bad";
}

const WIDTH = 160;

/** A line of figures, small enough to stand beside words. */
export function Spark({ label, values, height = 32, tone = "accent" }: SparkProps) {
  const t = useT();
  const language = useLanguage();
  const figure = new Intl.NumberFormat(localeOf(language), { maximumFractionDigits: 2 });
  const first = values[0];
  const last = values[values.length - 1];
  const words =
    first === undefined || last === undefined
      ? t("table.empty")
      : t("spark.summary", {
          first: figure.format(first),
          last: figure.format(last),
          least: figure.format(Math.min(...values)),
          most: figure.format(Math.max(...values)),
        });
  const line = sparkPath(values, WIDTH, height);
  return (
    <svg
      className={`spark ${tone}`}
      viewBox={`0 0 ${WIDTH} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`${label}. ${words}`}
      style={{ height }}
    >
      {line && <path className="area" d={`${line} L${WIDTH},${height} L0,${height} Z`} />}
      {line && <path className="line" d={line} vectorEffect="non-scaling-stroke" />}
    </svg>
  );
}

/** From nought to the largest value; one value is a level line. */
export function sparkPath(values: readonly number[], width: number, height: number): string {
  if (values.length === 0) return "";
  const most = Math.max(...values, 0) || 1;
  const points = values.length === 1 ? [values[0] ?? 0, values[0] ?? 0] : values;
  const step = width / (points.length - 1);
  return points
    .map((value, index) => {
      const y = height - 1 - (Math.max(0, value) / most) * (height - 2);
      return `${index ? "L" : "M"}${round(index * step)},${round(y)}`;
    })
    .join(" ");
}

const round = (value: number) => Math.round(value * 10) / 10;
