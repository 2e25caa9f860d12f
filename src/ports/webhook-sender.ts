/** One attempt to tell a receiver. */
export interface WebhookPost {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
  /** How often it was tried before: a name with several addresses is tried at one after the other. */
  readonly earlierAttempts: number;
}

/** What came of it. `blocked` sent nothing: the target is not one that may be reached. Codes are stable. */
export type WebhookAnswer =
  | { readonly kind: "answered"; readonly status: number }
  | { readonly kind: "blocked"; readonly code: string }
  | { readonly kind: "failed"; readonly code: string };

/** Posts to receivers on the network; never follows a redirect, never reaches what the rules do not allow. Does not reject. */
export interface WebhookSender {
  post(post: WebhookPost): Promise<WebhookAnswer>;
}
