{{/* Of every container but the engine. */}}
{{- define "bailiff.confined" -}}
privileged: false
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
capabilities:
  drop: [ALL]
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{/* The command of a container that runs a script of the chart's: the image has Node.js and no shell. */}}
{{- define "bailiff.script" -}}
- node
- --input-type=module
- --eval
- |
  {{- .root.Files.Get (printf "files/%s.mjs" .name) | trim | nindent 2 }}
{{- end -}}

{{/* Services' variables would look like a misspelt setting: a Service named bailiff makes BAILIFF_PORT. */}}
{{- define "bailiff.podBasics" -}}
serviceAccountName: {{ include "bailiff.fullname" . }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "bailiff.placement" -}}
{{- with .at.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .at.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .at.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .at.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
topologySpreadConstraints:
  {{- if .at.topologySpreadConstraints }}
  {{- toYaml .at.topologySpreadConstraints | nindent 2 }}
  {{- else }}
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- .selector | nindent 8 }}
  {{- end }}
{{- end -}}

{{/* No fsGroup anywhere below: it would let the group write the workspaces root, which Bailiff refuses. */}}
{{- define "bailiff.runner" -}}
runAsNonRoot: true
runAsUser: {{ .Values.workspaces.runnerUid }}
runAsGroup: {{ .Values.workspaces.runnerGid }}
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "bailiff.env" -}}
- name: BAILIFF_CONFIG
  value: /etc/bailiff/config/bailiff.yaml
{{- if .Values.redis.bundled.enabled }}
- name: REDIS_PASSWORD
  valueFrom:
    secretKeyRef:
      name: {{ .Values.redis.secret.name }}
      key: {{ .Values.redis.secret.passwordKey }}
- name: BAILIFF_REDIS_URL
  value: {{ include "bailiff.redisUrl" . | quote }}
{{- else }}
- name: BAILIFF_REDIS_URL_FILE
  value: /etc/bailiff/secrets/redis/{{ .Values.redis.secret.urlKey }}
{{- end }}
{{- if include "bailiff.collectorSecret" . }}
- name: BAILIFF_TELEMETRY_OTLP_AUTHORIZATION_FILE
  value: /etc/bailiff/secrets/collector/{{ .Values.secrets.collector.key }}
{{- end }}
{{- end -}}

{{- define "bailiff.mounts" -}}
- name: config
  mountPath: /etc/bailiff/config
  readOnly: true
- name: policy
  mountPath: /etc/bailiff/policy
  readOnly: true
- name: evidence-key
  mountPath: /etc/bailiff/secrets/evidence
  readOnly: true
{{- if not .Values.redis.bundled.enabled }}
- name: redis-url
  mountPath: /etc/bailiff/secrets/redis
  readOnly: true
{{- end }}
{{- if include "bailiff.redisTlsSecret" . }}
- name: redis-tls
  mountPath: /etc/bailiff/secrets/redis-tls
  readOnly: true
{{- end }}
{{- if include "bailiff.collectorSecret" . }}
- name: collector
  mountPath: /etc/bailiff/secrets/collector
  readOnly: true
{{- end }}
- name: data
  mountPath: /var/lib/bailiff
- name: tmp
  mountPath: /tmp
{{ include "bailiff.workspacesMount" . }}
{{- end -}}

{{- define "bailiff.workspacesMount" -}}
- name: workspaces
  mountPath: {{ .Values.workspaces.path }}
{{- with .Values.workspaces.subPath }}
  subPath: {{ . }}
{{- end }}
{{- end -}}

{{/* The policy is mounted as a whole directory: a subPath would never see a change. */}}
{{- define "bailiff.volumes" -}}
- name: config
  configMap:
    name: {{ include "bailiff.fullname" . }}-config
- name: policy
  projected:
    sources:
      - configMap:
          name: {{ include "bailiff.fullname" . }}-policy
      {{- with .Values.policy.existingConfigMap.name }}
      - configMap:
          name: {{ . }}
      {{- end }}
- name: evidence-key
  secret:
    secretName: {{ .Values.secrets.evidence.name }}
    defaultMode: 292 # 0444
    items:
      - { key: {{ .Values.secrets.evidence.key }}, path: {{ .Values.secrets.evidence.key }} }
{{- if not .Values.redis.bundled.enabled }}
- name: redis-url
  secret:
    secretName: {{ .Values.redis.secret.name }}
    defaultMode: 292 # 0444
    items:
      - { key: {{ .Values.redis.secret.urlKey }}, path: {{ .Values.redis.secret.urlKey }} }
{{- end }}
{{- if include "bailiff.redisTlsSecret" . }}
- name: redis-tls
  secret:
    secretName: {{ .Values.redis.external.tlsSecret.name }}
    defaultMode: 292 # 0444
    items:
      {{- with .Values.redis.external.tlsSecret }}
      {{- range list .caKey .certKey .keyKey | compact }}
      - { key: {{ . }}, path: {{ . }} }
      {{- end }}
      {{- end }}
{{- end }}
{{- if include "bailiff.collectorSecret" . }}
- name: collector
  secret:
    secretName: {{ .Values.secrets.collector.name }}
    defaultMode: 292 # 0444
    items:
      - { key: {{ .Values.secrets.collector.key }}, path: {{ .Values.secrets.collector.key }} }
{{- end }}
- name: data
  emptyDir: {}
- name: tmp
  emptyDir:
    sizeLimit: 256Mi
- name: workspaces
  persistentVolumeClaim:
    claimName: {{ include "bailiff.claim" . }}
{{- end -}}

{{/* A changed configuration needs new pods; a changed policy does not. */}}
{{- define "bailiff.podAnnotations" -}}
checksum/config: {{ include "bailiff.config" .root | sha256sum }}
{{- with .own }}
{{ toYaml . }}
{{- end }}
{{- end -}}
