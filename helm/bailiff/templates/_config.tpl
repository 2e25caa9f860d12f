{{- define "bailiff.policyFiles" -}}
{{- $files := list -}}
{{- if .Values.policy.existingConfigMap.name -}}
{{- range .Values.policy.existingConfigMap.files }}{{ $files = append $files . }}{{ end -}}
{{- else -}}
{{- $files = append $files "00-base.yaml" -}}
{{- end -}}
{{- $files = append $files "10-profiles.yaml" -}}
{{- range $name, $_ := .Values.policy.additions }}{{ $files = append $files (printf "20-%s.yaml" $name) }}{{ end -}}
{{- toJson $files -}}
{{- end -}}

{{/* The policy's settings that are the cluster's: which profile has which image, and which pool runs it. */}}
{{- define "bailiff.profiles" -}}
{{- $profiles := dict -}}
{{- range .Values.pools -}}
{{- $pool := . -}}
{{- range $name, $profile := .profiles -}}
{{- $image := ternary (printf "local@%s" $profile.image) $profile.image (hasPrefix "sha256:" $profile.image) -}}
{{- $_ := set $profiles $name (merge (dict "image" $image "pool" $pool.name) (omit (deepCopy $profile) "image")) -}}
{{- end -}}
{{- end -}}
{{- toYaml (dict "version" 1 "base" true "profiles" $profiles) -}}
{{- end -}}

{{- define "bailiff.config" -}}
{{- $images := dict -}}
{{- range .Values.pools }}{{ range $name, $profile := .profiles }}{{ $_ := set $images $name $profile.image }}{{ end }}{{ end -}}
{{- $files := list -}}
{{- range include "bailiff.policyFiles" . | fromJsonArray }}{{ $files = append $files (printf "/etc/bailiff/policy/%s" .) }}{{ end -}}
{{- $own := dict
  "deployment" .Values.deployment
  "data_dir" "/var/lib/bailiff"
  "init_path" "/run/bailiff/init/bailiff-init"
  "server" (dict "host" .Values.bindAddress "port" 8080 "public_metrics" .Values.metrics.public)
  "workspaces" (dict "root" .Values.workspaces.path "runner_uid" .Values.workspaces.runnerUid "runner_gid" .Values.workspaces.runnerGid)
  "docker" (dict "host" "unix:///run/bailiff/engine/docker.sock")
  "worker" (dict "probe_port" 9090)
  "redis" (include "bailiff.redisConfig" . | fromJson)
  "policy" (dict "files" $files)
  "images" $images
  "auth" (dict "keys_file" (printf "/etc/bailiff/secrets/keys/%s" .Values.secrets.keys.key))
  "evidence" (dict "signing_key_file" (printf "/etc/bailiff/secrets/evidence/%s" .Values.secrets.evidence.key))
-}}
{{- toYaml (mergeOverwrite (deepCopy .Values.config) $own) -}}
{{- end -}}

{{/* The pool's own shutdown grace: a command that has just begun may finish. The worker keeps 3 s of it for recording. */}}
{{- define "bailiff.shutdownGraceMs" -}}
{{- if kindIs "invalid" .pool.shutdownGraceMs -}}
{{- add (int64 .root.Values.config.limits.hard_timeout_ms) (int64 .root.Values.config.limits.grace_ms) 3000 -}}
{{- else -}}
{{- int64 .pool.shutdownGraceMs -}}
{{- end -}}
{{- end -}}

{{/* The worker may take 20 s beyond its grace, and the engine ends behind it. */}}
{{- define "bailiff.terminationGraceSeconds" -}}
{{- add 30 (div (add (include "bailiff.shutdownGraceMs" . | int64) 999) 1000) -}}
{{- end -}}

{{- define "bailiff.isNativeSidecar" -}}
{{- if eq .pool.engine.nativeSidecar "auto" -}}
{{- ternary "true" "" (semverCompare ">=1.29.0-0" .root.Capabilities.KubeVersion.Version) -}}
{{- else -}}
{{- ternary "true" "" (eq .pool.engine.nativeSidecar "always") -}}
{{- end -}}
{{- end -}}

{{/* Where traces go; empty where none are made. */}}
{{- define "bailiff.collector" -}}
{{- dig "telemetry" "otlp_endpoint" "" .Values.config | default "" -}}
{{- end -}}

{{/* The Secret with the collector's header; empty where none is sent. */}}
{{- define "bailiff.collectorSecret" -}}
{{- if include "bailiff.collector" . }}{{ .Values.secrets.collector.name }}{{ end -}}
{{- end -}}

{{/* The Secret with certificates for Redis; empty where there is none. */}}
{{- define "bailiff.redisTlsSecret" -}}
{{- if not .Values.redis.bundled.enabled }}{{ .Values.redis.external.tlsSecret.name }}{{ end -}}
{{- end -}}

{{/* What of an external Redis is no secret. */}}
{{- define "bailiff.redisConfig" -}}
{{- $redis := dict -}}
{{- if not .Values.redis.bundled.enabled -}}
{{- $_ := set $redis "cluster_nodes" .Values.redis.external.clusterNodes -}}
{{- $_ := set $redis "wait_replicas" .Values.redis.external.waitReplicas -}}
{{- if include "bailiff.redisTlsSecret" . -}}
{{- $tls := dict -}}
{{- $secret := .Values.redis.external.tlsSecret -}}
{{- range $field, $key := dict "ca_file" $secret.caKey "cert_file" $secret.certKey "key_file" $secret.keyKey -}}
{{- if $key }}{{ $_ := set $tls $field (printf "/etc/bailiff/secrets/redis-tls/%s" $key) }}{{ end -}}
{{- end -}}
{{- $_ := set $redis "tls" $tls -}}
{{- end -}}
{{- end -}}
{{- toJson $redis -}}
{{- end -}}

{{- define "bailiff.redisUrl" -}}
redis://:$(REDIS_PASSWORD)@{{ include "bailiff.fullname" . }}-redis:6379/0
{{- end -}}

{{/* Memory and CPU of an engine are its commands': concurrency times the largest profile, by the defaults of docs/policy.md. */}}
{{- define "bailiff.engineResources" -}}
{{- if .pool.engine.resources -}}
{{- toYaml .pool.engine.resources -}}
{{- else -}}
{{- $mebibytes := 0 -}}
{{- $milliCpus := 0 -}}
{{- range .pool.profiles -}}
{{- $limits := default dict .limits -}}
{{- $mebibytes = max $mebibytes (div (add (default 536870912 $limits.memory_bytes | int64) 1048575) 1048576) -}}
{{- $milliCpus = max $milliCpus (div (add (default 1000000000 $limits.nano_cpus | int64) 999999) 1000000) -}}
{{- end -}}
{{- $memory := printf "%dMi" (add (mul $mebibytes (int64 .pool.concurrency)) (int64 .pool.engine.overheadMiB)) -}}
requests:
  cpu: {{ max 100 (div (mul $milliCpus (int64 .pool.concurrency)) (int64 .pool.engine.cpuOvercommit)) }}m
  memory: {{ $memory }}
limits:
  memory: {{ $memory }}
{{- end -}}
{{- end -}}
