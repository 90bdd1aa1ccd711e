export type TimeStyle = "full" | "clock" | "ago";

// In Chinese dates are read as numbers; month and day in characters make every column wide.
const isChinese = (locale: string) => locale.toLowerCase().startsWith("zh");
const STYLES: Record<"full" | "clock", Intl.DateTimeFormatOptions> = {
  full: {
    year: "numeric",
    month: "short",
    day: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  },
  clock: { hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3 },
};
const STEPS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
  ["second", 1],
];

export function formatTime(
  at: string,
  style: TimeStyle,
  locale: string,
  nowMs: number,
  timeZone?: string,
): string {
  const moment = new Date(at);
  if (Number.isNaN(moment.getTime())) return at;
  if (style !== "ago")
    return formOf(locale, {
      ...STYLES[style],
      ...(style === "full" && isChinese(locale) ? { month: "2-digit", day: "2-digit" } : {}),
      hourCycle: "h23",
      timeZone,
    }).format(moment);
  const secondsAway = (moment.getTime() - nowMs) / 1000;
  const [unit, size] = STEPS.find(([, least]) => Math.abs(secondsAway) >= least) ?? ["second", 1];
  return distanceOf(locale).format(Math.trunc(secondsAway / size), unit);
}

// To make a form takes longer than to use it a hundred times, and pages show many moments.
const forms = new Map<string, Intl.DateTimeFormat>();
const distances = new Map<string, Intl.RelativeTimeFormat>();

function formOf(locale: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${locale} ${JSON.stringify(options)}`;
  const form = forms.get(key) ?? new Intl.DateTimeFormat(locale, options);
  forms.set(key, form);
  return form;
}

function distanceOf(locale: string): Intl.RelativeTimeFormat {
  const form =
    distances.get(locale) ?? new Intl.RelativeTimeFormat(locale, { numeric: "auto", style: "short" });
  distances.set(locale, form);
  return form;
}

/** A moment within a sentence: the time of day, with the date if that is another day. */
export function formatNear(at: string, locale: string, nowMs: number, timeZone?: string): string {
  const day = formOf("en-CA", { dateStyle: "short", timeZone });
  const moment = new Date(at);
  if (Number.isNaN(moment.getTime())) return at;
  if (day.format(moment) !== day.format(new Date(nowMs)))
    return formatTime(at, "full", locale, nowMs, timeZone);
  const { hour, minute, second } = STYLES.full;
  return formOf(locale, { hour, minute, second, hourCycle: "h23", timeZone }).format(moment);
}

const UNITS: readonly [number, string, string][] = [
  [86_400, "d", "天"],
  [3_600, "h", "小时"],
  [60, "min", "分"],
  [1, "s", "秒"],
];

/** `1 h 5 min`, `12.3 s`, `85 ms`: at most two units, as people say it. */
export function formatDuration(seconds: number, language: "en" | "zh"): string {
  const pick = (english: string, chinese: string) => (language === "zh" ? chinese : english);
  if (seconds < 0) return formatDuration(0, language);
  if (seconds < 0.9995) return `${Math.round(seconds * 1000)} ${pick("ms", "毫秒")}`;
  if (seconds < 59.95) return `${Number(seconds.toFixed(1))} ${pick("s", "秒")}`;
  const whole = Math.round(seconds);
  const at = UNITS.findIndex(([size]) => whole >= size);
  const parts: string[] = [];
  let rest = whole;
  for (const [size, english, chinese] of UNITS.slice(at, at + 2)) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count) parts.push(`${count} ${pick(english, chinese)}`);
  }
  return parts.join(" ");
}
