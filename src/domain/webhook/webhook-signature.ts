import { createHmac } from "node:crypto";

/** The secret of one session's webhook: derived, so that it is stored nowhere and only the deployment can derive it again. */
export function webhookSecret(deploymentSecret: string, sessionId: string): string {
  const derived = createHmac("sha256", deploymentSecret)
    .update(`bailiff webhook v1\0${sessionId}`)
    .digest("base64url");
  return `whsec_${derived}`;
}

/** The `bailiff-signature` header: HMAC-SHA256 over the time, a dot and the body, so that neither can be exchanged. */
export function signDelivery(secret: string, unixSeconds: number, body: string): string {
  const signature = createHmac("sha256", secret).update(`${unixSeconds}.${body}`, "utf8").digest("hex");
  return `t=${unixSeconds},v1=${signature}`;
}
