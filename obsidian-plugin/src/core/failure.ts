// What went wrong, in the reader's language.
import { lookUp, t } from "./i18n";

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
  return {
    code: error.code,
    message: lookUp(`error.${error.code}`) ?? error.message,
    remedy: lookUp(`remedy.${error.code}`) ?? error.remedy,
  };
}

/** One sentence for a notice. */
export function inOneLine(failure: Failure): string {
  return failure.remedy === "" ? failure.message : `${failure.message} ${failure.remedy}`;
}
