{{- /* A Deployment: root, component, part, arguments, kind. */ -}}
{{- define "stepward.deployment" -}}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  {{- include "stepward.metadata" . | nindent 2 }}
spec:
  {{- if not (dig "autoscaling" "enabled" false .part) }}
  replicas: {{ .part.replicas }}
  {{- end }}
  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxUnavailable: 0
      maxSurge: 1
  selector:
    matchLabels:
      {{- include "stepward.selector" . | nindent 6 }}
  template:
    {{- include "stepward.pod" . | nindent 4 }}
{{- end -}}
