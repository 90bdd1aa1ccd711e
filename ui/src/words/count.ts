import { useMemo } from "react";
import { localeOf, useLanguage } from ".";

const forms = new Map<string, Intl.NumberFormat>(); // to make one takes longer than to use it

/** Writes a count as people do: 10,000. */
export function useCount(): (value: number) => string {
  const locale = localeOf(useLanguage());
  return useMemo(() => {
    const form = forms.get(locale) ?? new Intl.NumberFormat(locale);
    forms.set(locale, form);
    return (value) => form.format(value);
  }, [locale]);
}
