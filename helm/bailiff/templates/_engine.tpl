{{/* The Docker engine of a worker: the one privileged container of the release. */}}
{{- define "bailiff.engineContainer" -}}
{{- $native := include "bailiff.isNativeSidecar" . -}}
{{- $engine := .pool.engine -}}
- name: engine
  image: {{ include "bailiff.imageName" $engine.image }}
  imagePullPolicy: {{ $engine.image.pullPolicy }}
  {{- if $native }}
  # A sidecar starts before the worker and ends after it.
  restartPolicy: Always
  {{- end }}
  command: [/bin/sh, /etc/bailiff/engine/engine.sh]
  env:
    - name: ENGINE_DIRECTORY
      value: /run/bailiff/engine
    - name: ENGINE_SOCKET_GID
      value: {{ $engine.socketGid | quote }}
    - name: ENGINE_DAEMON_CONFIG
      value: /etc/bailiff/engine/daemon-{{ .pool.name }}.json
    - name: ENGINE_START_LIMIT_S
      value: {{ $engine.startLimitSeconds | quote }}
    - name: ENGINE_IMAGES
      value: {{ include "bailiff.poolImages" . | quote }}
    {{- if $engine.archivesClaim }}
    - name: ENGINE_ARCHIVES
      value: /var/lib/bailiff/archives
    {{- end }}
    {{- if .root.Values.workspaces.prepare }}
    - name: ENGINE_WORKSPACES
      value: {{ .root.Values.workspaces.path }}
    - name: ENGINE_RUNNER
      value: "{{ .root.Values.workspaces.runnerUid }}:{{ .root.Values.workspaces.runnerGid }}"
    {{- end }}
    {{- if $engine.pullSecret }}
    - name: DOCKER_CONFIG
      value: /etc/bailiff/registry
    {{- end }}
  startupProbe:
    exec: { command: [test, -e, /run/bailiff/engine/ready] }
    periodSeconds: 5
    failureThreshold: {{ add 6 (div (int64 $engine.startLimitSeconds) 5) }}
  livenessProbe:
    exec: { command: [docker, --host, "unix:///run/bailiff/engine/docker.sock", version] }
    periodSeconds: 30
    timeoutSeconds: 15
    failureThreshold: 6
  {{- if not $native }}
  lifecycle:
    preStop:
      # Both containers are told to end at once; the engine must outlive the commands that the worker lets finish.
      exec:
        command:
          - /bin/sh
          - -c
          - |
            silent=0
            while [ "$silent" -lt 3 ]; do
              if wget -q -T 5 -O /dev/null http://127.0.0.1:9090/healthz; then silent=0; else silent=$((silent + 1)); fi
              sleep 1
            done
  {{- end }}
  securityContext:
    privileged: {{ $engine.privileged }}
    runAsNonRoot: false
    runAsUser: 0
    runAsGroup: 0
  resources:
    {{- include "bailiff.engineResources" . | nindent 4 }}
  volumeMounts:
    - name: engine-script
      mountPath: /etc/bailiff/engine
      readOnly: true
    - name: engine-socket
      mountPath: /run/bailiff/engine
    - name: init
      mountPath: /run/bailiff/init
      readOnly: true
    - name: engine-data
      mountPath: /var/lib/docker
    {{- include "bailiff.workspacesMount" .root | nindent 4 }}
    {{- if $engine.archivesClaim }}
    - name: archives
      mountPath: /var/lib/bailiff/archives
      readOnly: true
    {{- end }}
    {{- if $engine.pullSecret }}
    - name: registry
      mountPath: /etc/bailiff/registry
      readOnly: true
    {{- end }}
{{- end -}}

{{- define "bailiff.poolImages" -}}
{{- $images := list -}}
{{- range .pool.profiles }}{{ $images = append $images .image }}{{ end -}}
{{- $images | uniq | sortAlpha | join " " -}}
{{- end -}}
