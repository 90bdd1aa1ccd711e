import { useMemo } from "react";
import { formatDuration, formatNear } from "../../../../../../components/moments";
import { localeOf, shared, useLanguage, useT, useWords, type SharedKey } from "../../../../../../words";
import type { Speech } from "./sentence";
import { words } from "./words";

/** How reasons are told to this reader: in their language and their zone. */
export function useSpeech(): Speech {
  const t = useWords(words);
  const sharedT = useT();
  const language = useLanguage();
  return useMemo(
    () => ({
      t,
      time: (at) => formatNear(at, localeOf(language), Date.now()),
      span: (seconds) => formatDuration(seconds, language),
      status: (status) => {
        const key = `status.${status}`;
        return key in shared.en ? sharedT(key as SharedKey) : status;
      },
    }),
    [t, sharedT, language],
  );
}
