{{- define "bailiff.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* Short enough for every suffix: "-worker-" and a pool of at most 20 characters leave StatefulSets their pods' names. */}}
{{- define "bailiff.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 24 | trimSuffix "-" -}}
{{- else if contains (include "bailiff.name" .) .Release.Name -}}
{{- .Release.Name | trunc 24 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "bailiff.name" .) | trunc 24 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "bailiff.selector" -}}
app.kubernetes.io/name: {{ include "bailiff.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "bailiff.labels" -}}
{{ include "bailiff.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* An image by its digest where there is one. */}}
{{- define "bailiff.imageName" -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag }}
{{- end -}}
{{- end -}}

{{- define "bailiff.image" -}}
{{- include "bailiff.imageName" (dict "repository" .Values.image.repository "digest" .Values.image.digest "tag" (default .Chart.AppVersion .Values.image.tag)) -}}
{{- end -}}

{{- define "bailiff.claim" -}}
{{- default (printf "%s-workspaces" (include "bailiff.fullname" .)) .Values.workspaces.existingClaim -}}
{{- end -}}

{{/* What a pool is once its own words are laid over those for every pool. As JSON, for fromJson. */}}
{{- define "bailiff.pool" -}}
{{- mergeOverwrite (deepCopy .root.Values.worker) (deepCopy .pool) | toJson -}}
{{- end -}}

{{- define "bailiff.worker" -}}
{{- printf "%s-worker-%s" (include "bailiff.fullname" .root) .pool.name -}}
{{- end -}}

{{- define "bailiff.workerSelector" -}}
{{ include "bailiff.selector" .root }}
app.kubernetes.io/component: worker
bailiff.dev/pool: {{ .pool.name }}
{{- end -}}

{{/* Nothing is said of a pool that the checks of the values' schema can't say; this is what goes across several of them. */}}
{{- define "bailiff.check" -}}
{{- $profiles := dict -}}
{{- $pools := dict -}}
{{- range .Values.pools -}}
{{- $pool := include "bailiff.pool" (dict "root" $ "pool" .) | fromJson -}}
{{- if hasKey $pools .name }}{{ fail (printf "pools: the pool %q is there twice" .name) }}{{ end -}}
{{- $_ := set $pools .name true -}}
{{- range $name, $profile := .profiles -}}
{{- if hasKey $profiles $name }}{{ fail (printf "pools: the profile %q is in two pools" $name) }}{{ end -}}
{{- $_ := set $profiles $name true -}}
{{- if and (ne (default "none" $profile.network) "none") (not $pool.engine.network) -}}
{{- fail (printf "pools: the profile %q has a network, which needs engine.network in its pool" $name) -}}
{{- end -}}
{{- if and $profile.runtime (ne $profile.runtime "runc") (not (hasKey $pool.engine.runtimes $profile.runtime)) -}}
{{- fail (printf "pools: the profile %q names the runtime %q, which engine.runtimes of its pool lacks" $name $profile.runtime) -}}
{{- end -}}
{{- end -}}
{{- if and (eq $pool.autoscaling.mode "keda") (not $.Values.redis.bundled.enabled) (not $.Values.redis.external.address) -}}
{{- fail "redis.external.address: KEDA must be told where an external Redis is" -}}
{{- end -}}
{{- if and $pool.autoscaling.hpa.metrics $pool.autoscaling.hpa.queueMetric.name -}}
{{- fail (printf "pools: the pool %q has both autoscaling.hpa.queueMetric and hpa.metrics" .name) -}}
{{- end -}}
{{- if gt (int $pool.autoscaling.minReplicas) (int $pool.autoscaling.maxReplicas) -}}
{{- fail (printf "pools: the pool %q has autoscaling.minReplicas above maxReplicas" .name) -}}
{{- end -}}
{{- end -}}
{{- if not (hasKey $profiles "default") -}}
{{- fail "pools: one of them must have a profile named default, which sessions get that name none" -}}
{{- end -}}
{{- if and .Values.networkPolicy.enabled (not .Values.redis.bundled.enabled) (not .Values.redis.external.egress) -}}
{{- fail "redis.external.egress: the NetworkPolicy must be told how an external Redis is reached" -}}
{{- end -}}
{{- if and .Values.networkPolicy.enabled (include "bailiff.collector" .) (not .Values.networkPolicy.collectorEgress) -}}
{{- fail "networkPolicy.collectorEgress: the NetworkPolicy must be told how the collector of config.telemetry is reached" -}}
{{- end -}}
{{- if and .Values.metrics.serviceMonitor.enabled (not .Values.metrics.public) (not .Values.metrics.apiKeySecret.name) -}}
{{- fail "metrics.apiKeySecret.name: the API's metrics need a key of scope admin, or metrics.public" -}}
{{- end -}}
{{- if and .Values.policy.existingConfigMap.name (not .Values.policy.existingConfigMap.files) -}}
{{- fail "policy.existingConfigMap.files: name the keys to read" -}}
{{- end -}}
{{- end -}}
