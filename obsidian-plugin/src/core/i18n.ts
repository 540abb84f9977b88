// Which words the interface uses. Two dictionaries with the same keys; the test
// `i18n.test.ts` fails when one lacks a string, a placeholder or a translation.
import { en } from "./en";
import { zh } from "./zh";

export type Key = keyof typeof en;
export type Dictionary = Readonly<Record<Key, string>>;
export type Params = Readonly<Record<string, string | number>>;
export type Language = "en" | "zh";

export const DICTIONARIES: Readonly<Record<Language, Dictionary>> = { en, zh };

let current: Language = "en";

/** Chooses the dictionary from Obsidian's language code ("zh", "zh-TW", "en", "de", ...). */
export function useLanguage(code: string): Language {
  current = code.toLowerCase().startsWith("zh") ? "zh" : "en";
  return current;
}

/** The dictionary in use. */
export function language(): Language {
  return current;
}

/**
 * The string of a key in the language in use.
 *
 * `{name}` is replaced by a parameter (numbers with the language's own digits grouping);
 * `{n|note|notes}` chooses the singular for 1 and the plural for everything else.
 */
export function t(key: Key, params: Params = {}): string {
  return fill(DICTIONARIES[current][key], params, current);
}

/** The string of a key made from data, such as an error code; undefined if there is none. */
export function lookUp(key: string, params: Params = {}): string | undefined {
  const dictionary: Readonly<Record<string, string>> = DICTIONARIES[current];
  const template = Object.hasOwn(dictionary, key) ? dictionary[key] : undefined;
  return template === undefined ? undefined : fill(template, params, current);
}

export function fill(template: string, params: Params, lang: Language): string {
  return template.replace(
    /\{(\w+)(?:\|([^|{}]*)\|([^|{}]*))?\}/g,
    (whole, name: string, one?: string, many?: string) => {
      const value = params[name];
      if (value === undefined) return whole;
      if (one !== undefined && many !== undefined) return value === 1 ? one : many;
      return typeof value === "number" ? value.toLocaleString(lang) : value;
    },
  );
}
