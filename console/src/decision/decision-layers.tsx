import { renderArgv } from "../../../src/domain/rendering/render-argv.js";
import type { DecisionWire } from "../api/wire.js";
import { Badge } from "../shell/badge.js";
import { Name, Rendered, Words } from "../text/quoted.js";

/** The verdict of each layer, in the order in which they spoke. */
export function DecisionLayers(props: { readonly decision: DecisionWire }) {
  const { decision } = props;
  return (
    <>
      <ol class="layers">
        {decision.layers.map((layer, index) => (
          <li key={index} class={`layer layer-${layer.verdict}`}>
            <span class="layer-name">{layer.layer.replaceAll("_", " ")}</span>
            <Badge word={layer.verdict} />
            <span class="layer-words">
              <Words text={layer.reason} />
              <span class="layer-code">
                {layer.rule_id !== null && (
                  <>
                    rule <Name text={layer.rule_id} /> ·{" "}
                  </>
                )}
                {layer.code}
                {layer.token_index !== null && ` · token ${layer.token_index}`}
              </span>
              {layer.vector !== null && (
                <span class="layer-vector">
                  about <Rendered text={renderArgv(layer.vector).summary} />
                </span>
              )}
            </span>
          </li>
        ))}
      </ol>
      <p class="muted small">
        Decided as <strong>{decision.verdict}</strong> under policy{" "}
        <code class="hash">{decision.policy_version}</code>
        {decision.git_hardened && " · Git runs hardened"}
        {decision.granted_vector !== null && ` · vector ${decision.granted_vector} of the grant`}
      </p>
    </>
  );
}
