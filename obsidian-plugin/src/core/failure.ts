// What went wrong, in the reader's language.
import { lookUp, t } from "./i18n";
import { inReadersWords } from "./said";

export interface Failure {
  code: string;
  message: string;
  remedy: string;
}

/** A failed request: a stable code, a message for people and a remedy. */
export class BridgeFailure extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly remedy = "",
    readonly data: Readonly<Record<string, unknown>> = {},
  ) {
    super(message);
    this.name = "BridgeFailure";
  }
}

/** Any thrown value as a failure; known codes are told in the reader's language. */
export function failureOf(error: unknown): Failure {
  if (!(error instanceof BridgeFailure)) {
    const detail = error instanceof Error ? error.message : String(error);
    return { code: "INTERNAL", message: t("error.INTERNAL"), remedy: detail };
  }
  const { code, message, remedy } = error;
  const known = lookUp(`error.${code}`);
  if (known !== undefined)
    return { code, message: known, remedy: lookUp(`remedy.${code}`) ?? inReadersWords(remedy) };
  // Where the service's sentence is put in other words, they say what to do, too.
  const said = inOneLine(error);
  const told = inReadersWords(said);
  return told === said ? { code, message, remedy } : { code, message: told, remedy: "" };
}

/** One line for a notice: what went wrong and what to do. */
export function inOneLine({ message, remedy }: Pick<Failure, "message" | "remedy">): string {
  const between = remedy === "" || message.endsWith("。") ? "" : " ";
  return message + between + remedy;
}
