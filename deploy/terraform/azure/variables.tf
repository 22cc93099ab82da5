variable "name" {
  description = "Of the resources: 3 to 20 lower-case letters, digits and hyphens."
  type        = string
  default     = "stepward-shop"

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{2,19}$", var.name))
    error_message = "name: expected 3 to 20 lower-case letters, digits and hyphens; choose another."
  }
}

variable "location" {
  description = "A region with availability zones."
  type        = string
  default     = "westeurope"
}

variable "app" {
  description = "The App, as module:attribute."
  type        = string
  default     = "shop:app"
}

variable "image" {
  description = "The application's image, built on Stepward's, with a tag that stays."
  type        = string
}

variable "agents" {
  description = "The Agents, each with the fewest and the most replicas."
  type        = map(object({ least = number, most = number }))
  default     = { payments = { least = 2, most = 10 } }
}

variable "drain_seconds" {
  description = "The setting drain."
  type        = number
  default     = 10
}

variable "transport" {
  description = "The setting transport: store, or the address of a broker."
  type        = string
  default     = "store"
}

variable "service_bus" {
  description = "Whether there is a Service Bus that the processes may use; Stepward has no transport over it yet."
  type        = bool
  default     = false
}

variable "database_password" {
  description = "Of the database's administrator; it is in Terraform's state, which you protect accordingly."
  type        = string
  sensitive   = true
}
